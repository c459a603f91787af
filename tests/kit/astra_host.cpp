// Drives the adapter for ASTRA-sim as that does: all ranks pass sums around a ring, a step when the
// handlers of the step before have been called; some ask late, some compute in between.

#include <cassert>
#include <cmath>
#include <cstdio>
#include <memory>

#include "astra_network.hpp"

constexpr int RANKS = MC_SOURCES, STEPS = 2 * (RANKS - 1), BYTES = 1000, COMPUTE = 7;

struct Rank {
  AstraSim::AstraNetworkAPI *api;
  int step = 0, waits = 0, sends = 0, receives = 0;
  double ends = 0;

  void begin() {
    waits = 2;
    const int next = (api->rank + 1) % RANKS, before = (api->rank + RANKS - 1) % RANKS;
    api->sim_send(nullptr, BYTES, 0, next, step, nullptr, sent, this);
    if (api->rank % 2) {
      ask(before);
    } else {  // ... too late for most messages.
      api->sim_schedule({AstraSim::NS, 900}, [](void *rank) {
        Rank &self = *static_cast<Rank *>(rank);
        self.ask((self.api->rank + RANKS - 1) % RANKS);
      }, this);
    }
  }
  void ask(int before) { api->sim_recv(nullptr, BYTES, 0, before, step, nullptr, received, this); }
  static void sent(void *rank) {
    static_cast<Rank *>(rank)->sends++;
    static_cast<Rank *>(rank)->done();
  }
  static void received(void *rank) {
    static_cast<Rank *>(rank)->receives++;
    static_cast<Rank *>(rank)->done();
  }
  void done() {
    if (--waits) return;
    ends = static_cast<double>(api->sim_get_time().time_val);
    if (++step < STEPS)
      api->sim_schedule({AstraSim::NS, COMPUTE},
                        [](void *rank) { static_cast<Rank *>(rank)->begin(); }, this);
  }
};

int main() {
  multicube::Fabric fabric(2.0);
  std::vector<std::unique_ptr<multicube::FabricPort>> ports;
  std::vector<Rank> ranks(RANKS);
  for (int rank = 0; rank < RANKS; rank++) {
    ports.push_back(std::make_unique<multicube::FabricPort>(fabric, rank));
    ranks[rank].api = ports.back().get();
    ranks[rank].begin();
  }
  fabric.run();
  assert(fabric.messages() == std::uint64_t(RANKS * STEPS));
  const int flits = (BYTES + FLIT_BYTES - 1) / FLIT_BYTES;
  for (const Rank &rank : ranks) {
    assert(rank.step == STEPS && rank.sends == STEPS && rank.receives == STEPS);
    // Each step waits for all flits of a message, 2 ns each, and then computes.
    assert(rank.ends >= STEPS * (2.0 * flits + COMPUTE) - COMPUTE);
    assert(rank.ends <= STEPS * (900 + COMPUTE + 2.0 * flits));
  }
  // Two messages alike, of which the second is longer under way: in the order of the calls.
  static int order = 0;
  ports[0]->sim_recv(nullptr, 8, 0, 1, 99, nullptr, [](void *) { assert(order++ == 1); }, nullptr);
  ports[0]->sim_recv(nullptr, 8, 0, 1, 99, nullptr, [](void *) { assert(order++ == 3); }, nullptr);
  for (int turn = 0; turn < 2; turn++)
    ports[1]->sim_send(nullptr, 8, 0, 0, 99, nullptr, [](void *) { order++; }, nullptr);
  fabric.run();
  assert(order == 4);
  bool refused = false;
  try {
    multicube::FabricPort(fabric, RANKS);
  } catch (const std::out_of_range &) {
    refused = true;
  }
  assert(refused);
  int invalid = 0;  // ... and no memory is lost: the sanitizer sees it.
  for (const double cycle : {0.0, -1.0, std::nan("")}) {
    try {
      multicube::Fabric none(cycle);
    } catch (const std::invalid_argument &) {
      invalid++;
    }
  }
  for (const double after : {-1.0, std::nan("")}) {  // The second would never come.
    try {
      fabric.schedule(after, {});
    } catch (const std::invalid_argument &) {
      invalid++;
    }
  }
  assert(invalid == 5);
  std::printf("%llu messages in %llu cycles\n", (unsigned long long)fabric.messages(),
              (unsigned long long)fabric.cycles());
  return 0;
}
