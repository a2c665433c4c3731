#import torch
import math, torch
class Net(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
nn.Conv2d(3, 3, 3)
model = Net().to(device)
m = DistributedDataParallel(model)
o = torch.optim.RMSprop(p)
total_norm = 0.0
for p in model.parameters():
    if p.grad is not None:
        param_norm = p.grad.data.norm(2)
        total_norm += param_norm.item() ** 2
total_norm = total_norm ** 0.5
x, y = x.to(device), y.to(device)
model(x)
clip_grad_norm_(p, 1, foreach=False)
