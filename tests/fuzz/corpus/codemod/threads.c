#define HALF (1 / 2.0f)
struct s { float *x; int n; };
double norm(const float *x, long n)
{
	double s = 0;
	long i;
	for (i = 0; i < n; i++)
		s += (double)x[i] * x[i] * HALF;
	return s;
}
void rows(float *y, const float *x, int n, int w)
{
	int r, i;
	for (r = 0; r < n; r++) {
		const float *row = x + (long)r * w;
		float sum = 0;
		for (i = 0; i < w; i++)
			sum += row[i];
		for (i = 0; i < w; i++)
			y[r * w + i] = sum * row[i];
	}
}
static void add(float *y, const float *x, const struct s *s)
{
#pragma omp parallel for
	for (int i = 0; i < s->n; i++)
		y[i] += expf(x[i]);
	for (int i = 0; i <= s->n; i++)
		y[i] = x[i];
}
