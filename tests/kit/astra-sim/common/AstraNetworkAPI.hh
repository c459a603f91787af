// The part of ASTRA-sim's interface that a network implements, to compile the adapter without it.
// With a clone: `ASTRA_SIM=path make test`, and the adapter is compiled with the real one.

#pragma once

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE = 0, MS, US, NS, FS };

struct timespec_t {
  time_type_e time_res;
  long double time_val;
};

struct sim_request;

class AstraNetworkAPI {
 public:
  explicit AstraNetworkAPI(int rank) : rank(rank) {}
  virtual ~AstraNetworkAPI() = default;
  virtual int sim_send(void *, std::uint64_t, int, int, int, sim_request *, void (*)(void *),
                       void *) = 0;
  virtual int sim_recv(void *, std::uint64_t, int, int, int, sim_request *, void (*)(void *),
                       void *) = 0;
  virtual void sim_schedule(timespec_t, void (*)(void *), void *) = 0;
  virtual timespec_t sim_get_time() = 0;
  virtual int sim_comm_get_rank() { return rank; }

  int rank;
};

}  // namespace AstraSim
