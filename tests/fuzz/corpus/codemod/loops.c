static void add(float *y, const float *x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += x[i] / sqrtf((float)n);
}
static void product(const float *a, const float *b, float *c, int n)
{
	float p[8], q[8];
	add(p, q, 8);
	for (int j = 0; j < n; j++) {
		float s = 0;
		for (int k = 0; k < n; k++)
			s += a[k] * b[k * n + j];
		c[j] = s;
	}
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < n; i++)
		c[i] = 0;
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			c[i] += 1;
}
