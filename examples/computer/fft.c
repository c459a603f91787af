/* A fast Fourier transform of 64 points in fixed point: numbers are multiples of 2^-8, and those of
 * the circle of 2^-14. In each of 6 stages the butterflies are divided among the cores. */
#include "multicube.h"

#define N 64
#define STAGES 6

/* Cosine and sine of k / 64 of a turn. */
static const short circle[N / 2][2] = {
    {16384, 0}, {16305, 1606}, {16069, 3196}, {15679, 4756},
    {15137, 6270}, {14449, 7723}, {13623, 9102}, {12665, 10394},
    {11585, 11585}, {10394, 12665}, {9102, 13623}, {7723, 14449},
    {6270, 15137}, {4756, 15679}, {3196, 16069}, {1606, 16305},
    {0, 16384}, {-1606, 16305}, {-3196, 16069}, {-4756, 15679},
    {-6270, 15137}, {-7723, 14449}, {-9102, 13623}, {-10394, 12665},
    {-11585, 11585}, {-12665, 10394}, {-13623, 9102}, {-14449, 7723},
    {-15137, 6270}, {-15679, 4756}, {-16069, 3196}, {-16305, 1606},
};

int real[N], imaginary[N];

static int reversed(int number) {
  int result = 0;
  for (int bit = 0; bit < STAGES; bit++) {
    result = result << 1 | (number >> bit & 1);
  }
  return result;
}

int main(void) {
  for (int i = mc_id(); i < N; i += mc_count()) {
    real[reversed(i)] = (i * i % 61 - 30) << 8;
  }
  for (int half = 1; half < N; half *= 2) {
    mc_barrier();
    for (int i = mc_id(); i < N / 2; i += mc_count()) {
      int first = i / half * 2 * half + i % half, second = first + half;
      int k = i % half * (N / 2 / half);
      int cosine = circle[k][0], sine = circle[k][1];
      int x = real[second], y = imaginary[second];
      int turned_x = (int)(((long long)x * cosine + (long long)y * sine) >> 14);
      int turned_y = (int)(((long long)y * cosine - (long long)x * sine) >> 14);
      x = real[first];
      y = imaginary[first];
      real[first] = x + turned_x;
      imaginary[first] = y + turned_y;
      real[second] = x - turned_x;
      imaginary[second] = y - turned_y;
    }
  }
  return 0;
}
