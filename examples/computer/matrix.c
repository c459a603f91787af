/* The product of two matrices. A core takes the next row of the result, copies what it needs often
 * to its own memory, and computes the row. */
#include "multicube.h"

#ifndef N
#define N 8
#endif

int a[N][N], b[N][N], c[N][N];
volatile int next;

int main(void) {
  for (int i = mc_id(); i < N * N; i += mc_count()) {
    a[i / N][i % N] = i % 7 - 3;
    b[i / N][i % N] = i % 5 - 2;
  }
  mc_barrier();
  for (int row; (row = mc_fetch_add(&next, 1)) < N;) {
    int mine[N];
    for (int k = 0; k < N; k++) {
      mine[k] = a[row][k];
    }
    for (int column = 0; column < N; column++) {
      int sum = 0;
      for (int k = 0; k < N; k++) {
        sum += mine[k] * b[k][column];
      }
      c[row][column] = sum;
    }
  }
  return 0;
}
