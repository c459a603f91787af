"""One run on several cores: the C program that divides the cells of each type among threads.

The threads of a run do the same cycles. Each computes its own range of the cells of every type, and
at a barrier they wait for each other: between levels of outputs that depend on inputs, before the
update, and after it. What a thread reads was written before the last barrier, so that the values
don't depend on the number of threads. Levels of few cells that follow each other are computed by
the first thread alone, without barriers between them.
"""

import os

__all__ = ["MOST_THREADS", "THREADED", "ThreadChoice", "available_cores"]

MOST_THREADS = 1024
"""Most threads of a run."""

_TRIED_AGAIN = 50
"""Rounds after which another number of threads is tried again: the machine may be less busy."""


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ThreadChoice:
    """How many threads a run has: one, or as many as there are cores, whichever is faster.

    Which it is depends on the size of the network, and on what else the machine does. So each round
    is timed, and now and then a short one has the other number.

    Parameters
    ----------
    cores : int
    """

    def __init__(self, cores: int) -> None:
        self._rates: dict[int, float] = {}
        self._counts = [1, cores] if cores > 1 else [1]
        self._rounds = 0

    def next(self) -> tuple[int, bool]:
        """The threads of the next round, and whether it is a trial, which is to be short."""
        for count in self._counts:
            if count not in self._rates:
                return count, count > 1
        best = max(self._counts, key=self._rates.__getitem__)
        if self._rounds < _TRIED_AGAIN or len(self._counts) == 1:
            return best, False
        return next(count for count in self._counts if count != best), True

    def timed(self, count: int, rate: float) -> None:
        """Note how fast a round with some threads was."""
        tried = self._rounds >= _TRIED_AGAIN
        self._rates[count] = rate
        self._rounds = 0 if tried else self._rounds + 1


THREADED = """
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined __x86_64__ || defined __i386__
#define PAUSE() __builtin_ia32_pause()
#elif defined __aarch64__
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE()
#endif
#define SPINS 2000 /* looks at the barrier before a thread sleeps */

typedef struct {
  long count, cycles;
  _Alignas(64) atomic_long arrived;
  _Alignas(64) atomic_int turn; /* barriers passed; -1 until all threads are there */
  atomic_int asleep;            /* threads that wait for the next turn without looking */
  atomic_long stop;             /* the cycle of an event, or -1 */
} Team;

typedef struct {
  _Alignas(64) Context context; /* of its own: wires are swapped, events noted by each thread */
  Team *team;
  long number, done;
  pthread_t thread;
} Member;

/* Sleep until the next turn. */
static void rest(Team *team, int turn) {
#ifdef __linux__
  atomic_fetch_add(&team->asleep, 1);
  syscall(SYS_futex, &team->turn, FUTEX_WAIT_PRIVATE, turn, 0, 0, 0);
  atomic_fetch_sub(&team->asleep, 1);
#else
  sched_yield();
#endif
}

static void until_after(Team *team, int turn) {
  for (long spins = 0; atomic_load_explicit(&team->turn, memory_order_acquire) == turn; spins++)
    if (spins < SPINS) PAUSE(); else rest(team, turn);
}

static void begin_turn(Team *team, int turn) {
  atomic_store(&team->turn, turn);
#ifdef __linux__
  if (atomic_load(&team->asleep))
    syscall(SYS_futex, &team->turn, FUTEX_WAKE_PRIVATE, team->count, 0, 0, 0);
#endif
}

static void barrier(Team *team) {
  const int turn = atomic_load_explicit(&team->turn, memory_order_relaxed);
  if (atomic_fetch_add(&team->arrived, 1) + 1 < team->count) {
    until_after(team, turn);
  } else {
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    begin_turn(team, turn < INT_MAX ? turn + 1 : 0);
  }
}

/* Where the share of a thread begins; it ends where that of the next begins. */
static long share(const Type *t, long begin, long end, const Member *m, long next) {
  const long block = t->block ? t->block : LANES;
  return begin + (end - begin) / block * (m->number + next) / m->team->count * block;
}

static void *work(void *argument) {
  Member *m = argument;
  Team *team = m->team;
  Context *c = &m->context;
  until_after(team, -1);
  for (m->done = 0; m->done < team->cycles; m->done++) {
    for (const Task *t = c->tasks; t < c->tasks + c->task_count; t++) {
      if (t->waits) barrier(team);
      if (t->shared)
        t->late(c, t->type, share(t->type, t->begin, t->end, m, 0),
                share(t->type, t->begin, t->end, m, 1));
      else if (!m->number)
        t->late(c, t->type, t->begin, t->end);
    }
    if (c->task_count) barrier(team);
    for (const Type *t = c->types; t < c->types + c->type_count; t++)
      t->update(c, t, share(t, 0, t->cells, m, 0), share(t, 0, t->cells, m, 1));
    if (c->event >= 0) atomic_store(&team->stop, m->done);
    barrier(team);
    /* A faster thread may have stopped in the next cycle already. */
    if (atomic_load(&team->stop) == m->done) break;
    swap(c);
  }
  return 0;
}

/* As `run`, on as many threads; on fewer, if the system gives no more. */
long run_threads(Context *c, long cycles, long count) {
  Team team = {.cycles = cycles, .turn = -1, .stop = -1};
  Member members[count];
  enter(c);
  for (long n = 0; n < count; n++)
    members[n] = (Member){.context = *c, .team = &team, .number = n};
  long begun = 1;
  while (begun < count && !pthread_create(&members[begun].thread, 0, work, &members[begun]))
    begun++;
  team.count = begun;
  begin_turn(&team, 0);
  work(members);
  for (long n = 1; n < begun; n++) pthread_join(members[n].thread, 0);
  /* The event that one thread would find: of the first type, and there of the first cells. */
  *c = members[0].context;
  for (long n = 1; n < begun; n++) {
    const Context *other = &members[n].context;
    if (other->event >= 0 && (c->event < 0 || other->event_type < c->event_type)) {
      c->event_type = other->event_type;
      c->event = other->event;
      c->event_cell = other->event_cell;
    }
  }
  leave(c);
  return members[0].done;
}
"""
"""The C program that runs any network on several threads. It follows the driver."""
