#include <mpi.h>

#include "train.h"

void comm_open(struct comm *comm)
{
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &comm->size);
}

void comm_sum(struct comm *comm, float *values, size_t n)
{
	if (comm->size > 1)
		MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

float comm_mean(struct comm *comm, float value)
{
	comm_sum(comm, &value, 1);
	return value / comm->size;
}
