#include <pthread.h>
#include <stdlib.h>

#include "train.h"

#define QUEUE 256

struct device {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	struct {
		void (*kernel)(void *);
		void *context;
	} queue[QUEUE];
	size_t first, n;
};

static void *work(void *context)
{
	struct device *device = context;
	for (;;) {
		pthread_mutex_lock(&device->lock);
		while (!device->n)
			pthread_cond_wait(&device->more, &device->lock);
		size_t at = device->first;
		pthread_mutex_unlock(&device->lock);
		device->queue[at].kernel(device->queue[at].context);
		pthread_mutex_lock(&device->lock);
		device->first = (device->first + 1) % QUEUE;
		device->n--;
		pthread_cond_broadcast(&device->done);
		pthread_mutex_unlock(&device->lock);
	}
	return NULL;
}

struct device *device_open(void)
{
	struct device *device = calloc(1, sizeof(*device));
	if (!device)
		abort();
	pthread_mutex_init(&device->lock, NULL);
	pthread_cond_init(&device->more, NULL);
	pthread_cond_init(&device->done, NULL);
	if (pthread_create(&device->thread, NULL, work, device) != 0)
		abort();
	return device;
}

void device_run(struct device *device, void (*kernel)(void *), void *context)
{
	pthread_mutex_lock(&device->lock);
	while (device->n == QUEUE)
		pthread_cond_wait(&device->done, &device->lock);
	size_t at = (device->first + device->n++) % QUEUE;
	device->queue[at].kernel = kernel;
	device->queue[at].context = context;
	pthread_cond_signal(&device->more);
	pthread_mutex_unlock(&device->lock);
}

void device_wait(struct device *device)
{
	pthread_mutex_lock(&device->lock);
	while (device->n)
		pthread_cond_wait(&device->done, &device->lock);
	pthread_mutex_unlock(&device->lock);
}
