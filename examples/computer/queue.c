/* The Ultracomputer's parallel queue: many insert and delete at the same time, and none waits for a
 * lock. (A. Gottlieb, B. Lubachevsky and L. Rudolph, "Basic techniques for the efficient coordination
 * of very large numbers of cooperating sequential processors", ACM TOPLAS 5, 1983.) */
#include "multicube.h"

#define SIZE 8
#ifndef EACH
#define EACH 4 /* items of each core */
#endif

volatile int most, least; /* bounds of how many items there are */
volatile int inserts, deletes;
volatile int items[SIZE], turns[SIZE];
volatile int seen[1024];

/* Add 1, unless it is more than a limit then; test again, since others do the same. */
static int add_below(volatile int *word, int limit) {
  if (*word >= limit) {
    return 0;
  }
  if (mc_fetch_add(word, 1) < limit) {
    return 1;
  }
  mc_fetch_add(word, -1);
  return 0;
}

/* Subtract 1, unless it is 0. */
static int take(volatile int *word) {
  if (*word <= 0) {
    return 0;
  }
  if (mc_fetch_add(word, -1) > 0) {
    return 1;
  }
  mc_fetch_add(word, 1);
  return 0;
}

static int insert(int item) {
  if (!add_below(&most, SIZE)) {
    return 0;
  }
  int ticket = mc_fetch_add(&inserts, 1);
  int place = ticket % SIZE, turn = ticket / SIZE * 2;
  while (turns[place] != turn) {
  }
  items[place] = item;
  turns[place] = turn + 1;
  mc_fetch_add(&least, 1);
  return 1;
}

static int delete(int *item) {
  if (!take(&least)) {
    return 0;
  }
  int ticket = mc_fetch_add(&deletes, 1);
  int place = ticket % SIZE, turn = ticket / SIZE * 2 + 1;
  while (turns[place] != turn) {
  }
  *item = items[place];
  turns[place] = turn + 1;
  mc_fetch_add(&most, -1);
  return 1;
}

int main(void) {
  int inserted = 0, deleted = 0, item;
  while (inserted < EACH || deleted < EACH) {
    if (inserted < EACH && insert(mc_id() * EACH + inserted)) {
      inserted++;
    }
    if (deleted < EACH && delete(&item)) {
      mc_fetch_add(&seen[item], 1);
      deleted++;
    }
  }
  return 0;
}
