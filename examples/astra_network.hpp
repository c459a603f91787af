// A network of a library in C in place of ASTRA-sim's own: what its `AstraNetworkAPI` asks for.
//
//     multicube export torus k=4 length=1:16 payload=32 --c network
//
// A message is cut into packets of at most LONGEST flits, each of FLIT_BYTES; payloads carry its
// number. LONGEST is the network's longest packet, if it is not defined. A host has one `Fabric`, and a `FabricPort` for each rank, which it gives to `Sys`:
//
//     multicube::Fabric fabric(1.0);                      // nanoseconds of a cycle
//     multicube::FabricPort port(fabric, rank);           // of each rank
//     ... systems[rank]->workload->fire() ...
//     fabric.run();                                       // until nothing is left to do
//
// The handler of a message's sender is called when its last flit has arrived, and then that of the
// receiver, or as soon as it asks, as in ASTRA-sim's analytical networks. The first message of a
// tag, two ranks and a size is for the first that asks for it, the second for the second.

#ifndef MC_ASTRA_NETWORK_HPP
#define MC_ASTRA_NETWORK_HPP

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "mc.h"

#ifndef FLIT_BYTES
#define FLIT_BYTES 32
#endif
#ifndef LONGEST
#define LONGEST MC_LONGEST
#endif
static_assert(0 < LONGEST && LONGEST <= MC_LONGEST, "packets must fit the network: length=1:LONGEST");
static_assert(0 < FLIT_BYTES, "a flit must stand for some bytes");

namespace multicube {

struct Handler {
  void (*function)(void *) = nullptr;
  void *argument = nullptr;
  void call() const {
    if (function) function(argument);
  }
};

/// The network, the time, and what waits for it.
class Fabric {
 public:
  explicit Fabric(double nanoseconds) : nanoseconds_(nanoseconds), network_(mc_create(), mc_destroy) {
    if (!network_) throw std::runtime_error("multicube: there is no memory for a network");
    if (!(nanoseconds > 0)) throw std::invalid_argument("multicube: a cycle must take some time");
  }
  Fabric(const Fabric &) = delete;
  Fabric &operator=(const Fabric &) = delete;

  double now() const { return now_; }
  std::uint64_t messages() const { return arrived_; }
  std::uint64_t cycles() const { return mc_cycle(network_.get()); }

  void schedule(double after, Handler handler) {
    if (!(after >= 0)) throw std::invalid_argument("multicube: an event must not be in the past");
    events_.push({now_ + after, order_++, handler});
  }

  void send(int source, int sink, int tag, std::uint64_t bytes, Handler sender) {
    std::uint64_t route;
    check(mc_tag(source, sink, &route));
    const Key key{tag, source, sink, bytes};
    std::uint32_t number = static_cast<std::uint32_t>(moving_.size());
    if (free_.empty()) {
      moving_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    std::uint64_t left = bytes ? (bytes + FLIT_BYTES - 1) / FLIT_BYTES : 1;
    moving_[number] = {key, sent_[key]++, left, sender};
    for (; left; left -= packet(left)) waiting_[source].push_back({route, number, packet(left)});
    under_way_++;
  }

  void receive(int source, int sink, int tag, std::uint64_t bytes, Handler receiver) {
    const Key key{tag, source, sink, bytes};
    const Turn turn{key, asked_[key]++};
    if (early_.erase(turn)) {
      schedule(0, receiver);
    } else {
      receivers_[turn] = receiver;
    }
  }

  /// Until no event is left, and no message is under way.
  void run() {
    while (true) {
      while (!events_.empty() && events_.top().time <= now_) {
        const Handler handler = events_.top().handler;
        events_.pop();
        handler.call();
      }
      if (under_way_) {
        cycle();
      } else if (!events_.empty()) {
        now_ = std::max(now_, events_.top().time);
      } else {
        return;
      }
    }
  }

 private:
  using Key = std::tuple<int, int, int, std::uint64_t>;
  using Turn = std::pair<Key, std::uint64_t>;
  struct Event {
    double time;
    std::uint64_t order;
    Handler handler;
    bool operator<(const Event &other) const {  // The first is on top, of equal ones the older.
      return std::tie(other.time, other.order) < std::tie(time, order);
    }
  };
  struct Packet {
    std::uint64_t route;
    std::uint32_t message;
    std::uint64_t flits;
    bool begun = false;
  };
  struct Message {
    Key key;
    std::uint64_t turn, flits;
    Handler sender;
  };

  static std::uint64_t packet(std::uint64_t flits) {
    return std::min(flits, static_cast<std::uint64_t>(LONGEST));
  }

  static int check(int code) {
    if (code < 0) throw std::runtime_error(std::string("multicube: ") + mc_text(code));
    return code;
  }

  // The only flit of a packet is the last one, if flits of the network have that field.
  template <class AnyFlit> static auto finish(AnyFlit &flit, bool last, int)
      -> decltype(flit.last, void()) {
    flit.last = last;
  }
  template <class AnyFlit> static void finish(AnyFlit &, bool last, long) {
    if (!last) throw std::logic_error("multicube: packets are single flits: LONGEST must be 1");
  }

  void cycle() {
    for (int source = 0; source < MC_SOURCES; source++) {
      auto &queue = waiting_[source];
      if (queue.empty() || mc_busy(network_.get(), source)) continue;
      Packet &packet = queue.front();
      mc_flit flit = {};
      flit.tag = packet.begun ? 0 : packet.route;
      flit.payload = packet.message;
      finish(flit, packet.flits == 1, 0);
      check(mc_offer(network_.get(), source, &flit));
      packet.begun = true;
      if (!--packet.flits) queue.pop_front();
    }
    check(mc_step(network_.get(), 1));
    now_ += nanoseconds_;
    for (int sink = 0; sink < MC_SINKS; sink++) {
      mc_flit flit;
      if (check(mc_take(network_.get(), sink, &flit)) == MC_OK)
        arrive(static_cast<std::uint32_t>(flit.payload));
    }
  }

  void arrive(std::uint32_t number) {
    if (--moving_.at(number).flits) return;
    const Message message = moving_[number];
    free_.push_back(number);
    under_way_--;
    arrived_++;
    const Turn turn{message.key, message.turn};
    const auto found = receivers_.find(turn);
    const Handler receiver = found == receivers_.end() ? Handler{} : found->second;
    if (found == receivers_.end()) {
      early_[turn] = true;
    } else {
      receivers_.erase(found);
    }
    message.sender.call();
    receiver.call();
  }

  double nanoseconds_, now_ = 0;
  std::unique_ptr<mc_network, decltype(&mc_destroy)> network_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0, under_way_ = 0, arrived_ = 0;
  std::deque<Packet> waiting_[MC_SOURCES];
  std::vector<Message> moving_;
  std::vector<std::uint32_t> free_;
  std::map<Key, std::uint64_t> sent_, asked_;
  std::map<Turn, Handler> receivers_;
  std::map<Turn, bool> early_;
};

/// A rank's view of the network.
class FabricPort : public AstraSim::AstraNetworkAPI {
 public:
  FabricPort(Fabric &fabric, int rank) : AstraNetworkAPI(rank), fabric_(fabric) {
    if (rank < 0 || rank >= MC_SOURCES || rank >= MC_SINKS)
      throw std::out_of_range("multicube: the network has no terminal of this rank");
  }

  int sim_send(void *, std::uint64_t count, int, int dst, int tag, AstraSim::sim_request *,
               void (*handler)(void *), void *argument) override {
    fabric_.send(rank, dst, tag, count, {handler, argument});
    return 0;
  }

  int sim_recv(void *, std::uint64_t count, int, int src, int tag, AstraSim::sim_request *,
               void (*handler)(void *), void *argument) override {
    fabric_.receive(src, rank, tag, count, {handler, argument});
    return 0;
  }

  void sim_schedule(AstraSim::timespec_t delta, void (*handler)(void *), void *argument) override {
    if (delta.time_res != AstraSim::NS)
      throw std::invalid_argument("multicube: times must be in nanoseconds");
    fabric_.schedule(static_cast<double>(delta.time_val), {handler, argument});
  }

  AstraSim::timespec_t sim_get_time() override { return {AstraSim::NS, fabric_.now()}; }

 private:
  Fabric &fabric_;
};

}  // namespace multicube

#endif
