/* Norms, layouts, graphs and activations of PyTorch programs. */
#ifndef TESTS_UNIT_CODEMOD_EXAMPLES_TORCH_H
#define TESTS_UNIT_CODEMOD_EXAMPLES_TORCH_H

#include "examples.h"

#define NORM(head, taken, tail)                                                                              \
	"import torch\n" head "total_norm = 0.0\nfor p in model.parameters():\n    if p.grad is not None:\n" \
	"        param_norm = " taken "\n        total_norm += param_norm.item() ** 2\n"                     \
	"total_norm = total_norm ** 0.5\n" tail
#define GELU(x, constant, cube)                                                                              \
	"import math, torch\ndef act(x):\n    return 0.5 * " x                                               \
	" * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + " constant " * " cube ")))\n"
#define CNN(layers, move, call)                                                                              \
	"import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Conv2d(3, 8, 3), " layers                \
	")\nmodel = net\nmodel = model.to(device)\nfor images, labels in loader:\n    " move                 \
	"\n    loss = f(" call ", labels)\n"
#define NET(body)                                                                                            \
	"from torch.nn.parallel import DistributedDataParallel\nclass Net(nn.Module):\n    def "             \
	"forward(self, x):\n" body "model = Net().to(0)\n"

#define LANGUAGE_MODEL(imports, head, body)                                                                  \
	imports "class Net(nn.Module):\n    def __init__(self):\n        self.head = " head                  \
		"\n    def forward(self, x, y=None):\n" body
#define LOGITS "        logits = self.head(x)\n"
#define LOSS "F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))"
#define TORCH_AND_F "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

static const struct example torch_examples[] = {
	{"foreach-optimizer", "t.py", "from torch import optim\no = optim.RMSprop(p, lr=1)\n",
		{"+o = optim.RMSprop(p, lr=1, foreach=True)\n"}, NULL},
	{"foreach-optimizer", "t.py", "from torch import optim\no = optim.NAdam(p, foreach=False)\n", {NULL},
		"the optimizer's implementation is chosen already"},
	{"foreach-optimizer", "t.py", "from torch import optim\no = optim.RAdam(p, **o)\n", {NULL},
		"its arguments come from elsewhere and may choose an implementation"},
	{"foreach-optimizer", "t.py", "from torch import optim\no = optim.AdamW(p)\n", {NULL},
		NULL}, /* fused */

	{"clip-foreach", "t.py", "torch.nn.utils.clip_grad_norm_(ps, 1.0, foreach=False)\n",
		{"+torch.nn.utils.clip_grad_norm_(ps, 1.0, foreach=None)\n"}, NULL},
	{"clip-foreach", "t.py", "torch.nn.utils.clip_grad_norm_(ps, 1.0)\n", {NULL}, NULL},
	{"clip-foreach", "t.py", "m = FSDP(m)\nclip_grad_norm_(ps, 1.0, foreach=False)\n", {NULL},
		"gradients may be parts of sharded tensors"},

	{"grad-norm", "t.py", NORM("", "p.grad.data.norm(2)", "print(total_norm)\n"),
		{"+total_norm = sum(p.grad.detach().norm(2).double() ** 2 for p in model.parameters() if "
		 "p.grad is not "
		 "None)\n+total_norm = float(total_norm) ** 0.5\n print(total_norm)\n"},
		NULL},
	{"grad-norm", "t.py", NORM("", "p.grad.data.norm(1)", ""), {NULL}, NULL},
	{"grad-norm", "t.py", NORM("", "p.grad.data.norm(2)", "print(param_norm)\n"), {NULL},
		"the loop's variables are used elsewhere too"},
	{"grad-norm", "t.py", NORM("", "p.grad.data.norm(2)  # of one", ""), {NULL}, NULL},
	{"grad-norm", "t.py", NORM("m = FSDP(m)\n", "p.grad.data.norm(2)", ""), {NULL},
		"gradients may be parts of sharded tensors"},
	{"grad-norm", "t.py", NORM("device = 'mps'\n", "p.grad.data.norm(2)", ""), {NULL},
		"the device may have no double precision"},
	{"grad-norm", "t.py", NORM("sum = torch.sum\n", "p.grad.data.norm(2)", ""), {NULL},
		"the file may have a sum() of its own"},
	{"grad-norm", "t.py", "x = 0; " NORM("", "p.grad.data.norm(2)", ""),
		{"+total_norm = float(total_norm) ** 0.5\n"}, NULL},

	{"gelu", "t.py", GELU("x", "0.044715", "torch.pow(x, 3.0)"),
		{"+    return torch.nn.functional.gelu(x, approximate=\"tanh\")\n"}, NULL},
	{"gelu", "t.py", GELU("x", "0.044715", "x ** 3"),
		{"+    return torch.nn.functional.gelu(x, approximate=\"tanh\")\n"}, NULL},
	{"gelu", "t.py", GELU("x", "0.044715", "x * x * x"),
		{"+    return torch.nn.functional.gelu(x, approximate=\"tanh\")\n"}, NULL},
	{"gelu", "t.py", GELU("x", "0.0447", "x ** 3"), {NULL}, NULL},
	{"gelu", "t.py", GELU("y", "0.044715", "x ** 3"), {NULL}, NULL},
	{"gelu", "t.py", GELU("x", "0.044715", "x ** 2"), {NULL}, NULL},

	{"channels-last", "t.py",
		CNN("nn.ReLU()", "images, labels = images.to(device), labels.to(device)", "model(images)"),
		{" model = model.to(device)\n+model = model.to(memory_format=torch.channels_last)\n",
			"+    images, labels = images.to(device, memory_format=torch.channels_last), "
			"labels.to(device)\n"},
		NULL},
	{"channels-last", "t.py", CNN("nn.ReLU()", "images = images.to(device)", "model(images, labels)"),
		{NULL}, "the model is not called with one variable alone"},
	{"channels-last", "t.py", CNN("nn.ReLU()", "images = images.float()", "model(images)"), {NULL},
		"the images are not just moved to a device"},
	{"channels-last", "t.py", CNN("nn.ReLU()", "images = images.to(device)", "model(images).view(-1)"),
		{NULL}, "view() does not take this layout (reshape() does)"},
	{"channels-last", "t.py", CNN("nn.ReLU()", "images = images.to(device)", "model(images).stride()"),
		{NULL}, "the layout of tensors is looked at"},
	{"channels-last", "t.py", "import torch\nnn.Conv2d\nif x:\n    model.to(device)\n", {NULL},
		"no single place where the model is moved to its device"},
	{"channels-last", "t.py", "import torch\nmodel = Net().to(device)\nmodel(x)\n", {NULL}, NULL},

	{"static-graph", "t.py", NET("        return self.f(x)\n") "m = DistributedDataParallel(model)\n",
		{"+m = DistributedDataParallel(model, static_graph=True)\n"}, NULL},
	{"static-graph", "t.py",
		NET("        if x.any():\n            return x\n") "m = DistributedDataParallel(model)\n",
		{NULL}, "a forward() may go different ways"},
	{"static-graph", "t.py",
		NET("        return x\n") "m = DistributedDataParallel(model)\nm.no_sync()\n", {NULL},
		"which parameters take part may change, or the graph is handled in another way"},
	{"static-graph", "t.py",
		NET("        return x\n") "m = DistributedDataParallel(model, find_unused_parameters=True)\n",
		{NULL}, "which parameters take part may change, or the graph is handled in another way"},
	{"static-graph", "t.py", NET("        return x\n") "m = DistributedDataParallel(other)\n", {NULL},
		"the model is not one of the program's classes, made in this file"},
	{"static-graph", "t.py", NET("        return x\n") "m = DistributedDataParallel(*models)\n", {NULL},
		"its arguments come from elsewhere"},

	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F, "nn.Linear(4, 9)", LOGITS "        return " LOSS "\n"),
		{" import torch\n+import torch.utils.checkpoint\n",
			"+def cross_entropy_in_parts(head, hidden, targets, ignore_index=-100, rows=1024):\n",
			"-        logits = self.head(x)\n+        hidden = x\n",
			"+        return cross_entropy_in_parts(self.head, hidden, y.view(-1))\n"},
		NULL},
	/* A remark stays with its class. */
	{"chunked-loss", "t.py",
		TORCH_AND_F LANGUAGE_MODEL("# hidden\n", "nn.Linear(4, 9)",
			LOGITS "        loss = None\n        if y is not None:\n            loss = " LOSS
			       "\n        return loss\n"),
		{"targets.long() != ignore_index).sum()\n+\n+\n # hidden\n class Net",
			"+        head_input = x\n",
			"+            loss = cross_entropy_in_parts(self.head, head_input, y.view(-1))\n"},
		NULL},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F, "nn.Linear(4, 9)", LOGITS "        return " LOSS ", logits\n"),
		{NULL}, "the logits are used elsewhere too"},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F, "nn.Linear(4, 9)",
			LOGITS "        x.zero_()\n        return " LOSS "\n"),
		{NULL}, "something happens between the logits and their loss"},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F, "nn.Linear(4, 9)",
			LOGITS "        return F.cross_entropy(logits.view(-1, 9), y.view(-1), weight=w)\n"),
		{NULL}, "the loss is weighted, smoothed or reduced in another way"},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL("from torch import nn\nimport torch.nn.functional as F\n", "nn.Linear(4, 9)",
			LOGITS "        return " LOSS "\n"),
		{NULL}, "the file does not import torch by that name"},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F "from deepspeed import zero\n", "nn.Linear(4, 9)",
			LOGITS "        return " LOSS "\n"),
		{NULL}, "the layer's weight may be sharded"},
	/* In no statement of its own. */
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F, "nn.Linear(4, 9)",
			LOGITS "        @" LOSS "\n        def g():\n            pass\n        return g\n"),
		{NULL}, "something happens between the logits and their loss"},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F, "nn.Linear(4, 9)",
			LOGITS "        def g(a=" LOSS "):\n            pass\n        return g\n"),
		{NULL}, NULL},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(TORCH_AND_F, "Head(4, 9)", LOGITS "        return " LOSS "\n"), {NULL}, NULL},
	{"chunked-loss", "t.py",
		LANGUAGE_MODEL(
			TORCH_AND_F, "nn.Linear(4, 9)", LOGITS "        return F.cross_entropy(logits, y)\n"),
		{NULL}, NULL},
};

#endif
