// A network as a library in C beside one of BookSim2: the same packets, from the same loop.
//
//     multicube export torus k=8 depth=4 payload=32 --c torus64
//     git clone https://github.com/booksim/booksim2 && make -C booksim2/src
//     gcc -O2 -march=native -c torus64/mc.c torus64/mc_0.c
//     B=booksim2/src; O=$(find $B -name '*.o' ! -name main.o)
//     g++ -O3 -march=native -I$B -I$B/networks -I$B/routers -I$B/arbiters -I$B/allocators
//       -Itorus64 examples/booksim_host.cpp mc.o mc_0.o $O -o beside      (one line)
//     ./beside 0.2 20000 topology=torus k=8 n=2 routing_function=dim_order num_vcs=2 vc_buf_size=4
//
// Both get a packet of one flit when it is generated, and queue it at its source. At the end the
// books must be equal: which packets were sent, and which arrived where.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "booksim_config.hpp"
#include "buffer_state.hpp"
#include "credit.hpp"
#include "flit.hpp"
#include "globals.hpp"
#include "mc.h"
#include "network.hpp"
#include "outputset.hpp"
#include "routefunc.hpp"

// What BookSim2's own main program has.
class TrafficManager;
TrafficManager *trafficManager = nullptr;
bool gPrintActivity = false, gTrace = false;
int gK, gN, gC, gNodes;
std::ostream *gWatchOut = nullptr;
static int now = 0;
int GetSimTime() { return now; }
Stats *GetStats(const std::string &) { return nullptr; }

struct Packet {
  int source, sink;
  std::uint32_t number;
};

// The only flit of a packet is the last one, if flits of the network have that field.
template <class AnyFlit> auto finish(AnyFlit &flit, int) -> decltype(flit.last, void()) {
  flit.last = 1;
}
template <class AnyFlit> void finish(AnyFlit &, long) {}

struct Ours {
  mc_network *network = mc_create();

  static int checked(int code) {
    if (code < 0) {
      std::fprintf(stderr, "%s\n", mc_text(code));
      std::exit(1);
    }
    return code;
  }
  bool offer(const Packet &packet) {
    if (checked(mc_busy(network, packet.source))) return false;
    mc_flit flit = {};
    checked(mc_tag(packet.source, packet.sink, &flit.tag));
    flit.payload = packet.number;
    finish(flit, 0);
    checked(mc_offer(network, packet.source, &flit));
    return true;
  }
  template <class Arrived> void step(Arrived arrived) {
    checked(mc_step(network, 1));
    for (int sink = 0; sink < MC_SINKS; sink++) {
      mc_flit flit;
      if (!checked(mc_take(network, sink, &flit))) arrived(sink, std::uint32_t(flit.payload));
    }
  }
};

struct Theirs {
  const BookSimConfig &config;
  Network *network;
  tRoutingFunction route;
  std::vector<BufferState *> rooms;
  std::vector<Flit *> waiting;

  explicit Theirs(const BookSimConfig &given) : config(given) {
    InitializeRoutingMap(config);
    network = Network::New(config, "network");
    const std::string word = config.GetStr("routing_function") + "_" + config.GetStr("topology");
    route = gRoutingFunctionMap.at(word);
    for (int node = 0; node < network->NumNodes(); node++)
      rooms.push_back(new BufferState(config, nullptr, "terminal_" + std::to_string(node)));
    waiting.resize(network->NumNodes());
  }
  bool offer(const Packet &packet) {
    if (waiting[packet.source]) return false;
    Flit *flit = waiting[packet.source] = Flit::New();
    flit->id = flit->pid = int(packet.number);
    flit->src = packet.source;
    flit->dest = packet.sink;
    flit->head = flit->tail = true;
    flit->cl = flit->subnetwork = flit->pri = 0;
    flit->vc = -1;
    flit->type = Flit::ANY_TYPE;
    flit->ctime = now;
    return true;
  }
  void inject(int node) {
    Flit *flit = waiting[node];
    OutputSet set;
    route(nullptr, flit, -1, &set, true);
    const OutputSet::sSetElement &channels = *set.GetSet().begin();
    for (int vc = channels.vc_start; vc <= channels.vc_end && flit->vc < 0; vc++)
      if (rooms[node]->IsAvailableFor(vc) && !rooms[node]->IsFullFor(vc)) flit->vc = vc;
    if (flit->vc < 0) return;
    rooms[node]->TakeBuffer(flit->vc);
    rooms[node]->SendingFlit(flit);
    flit->itime = now;
    network->WriteFlit(flit, node);
    waiting[node] = nullptr;
  }
  template <class Arrived> void step(Arrived arrived) {
    const int nodes = network->NumNodes();
    std::vector<Flit *> left(nodes);
    for (int node = 0; node < nodes; node++) {
      left[node] = network->ReadFlit(node);
      if (Credit *credit = network->ReadCredit(node)) {
        rooms[node]->ProcessCredit(credit);
        credit->Free();
      }
    }
    network->ReadInputs();
    for (int node = 0; node < nodes; node++)
      if (waiting[node]) inject(node);
    for (int node = 0; node < nodes; node++) {
      if (!left[node]) continue;
      Credit *credit = Credit::New();
      credit->vc.insert(left[node]->vc);
      network->WriteCredit(credit, node);
      arrived(node, std::uint32_t(left[node]->id));
      left[node]->Free();
    }
    network->Evaluate();
    network->WriteOutputs();
    now++;
  }
};

struct Books {
  std::uint64_t sent = 0, arrived = 0, lost = 0, sent_sum = 0, arrived_sum = 0;
  double latency = 0, cycles_per_second = 0;
};

static std::uint64_t entry(int sink, std::uint32_t number) {
  return (std::uint64_t(number) << 16 | std::uint64_t(sink)) * 0x9E3779B97F4A7C15;
}

template <class Simulator> Books run(Simulator &simulator, double load, long cycles) {
  Books books;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> draw;
  std::vector<std::deque<Packet>> queues(MC_SOURCES);
  std::vector<long> births;
  const std::clock_t begin = std::clock();
  long cycle = 0;
  for (; cycle < cycles || books.arrived < books.sent; cycle++) {
    for (int source = 0; source < MC_SOURCES; source++) {
      if (cycle < cycles && draw(random) < load) {
        const int sink = int(random() % MC_SINKS);
        queues[source].push_back({source, sink, std::uint32_t(births.size())});
        books.sent++;
        books.sent_sum += entry(sink, std::uint32_t(births.size()));
        births.push_back(cycle);
      }
      std::deque<Packet> &queue = queues[source];
      if (!queue.empty() && simulator.offer(queue.front())) queue.pop_front();
    }
    simulator.step([&](int sink, std::uint32_t number) {
      books.arrived++;
      books.arrived_sum += entry(sink, number);
      books.latency += double(cycle + 1 - births[number]);
    });
  }
  books.latency /= double(books.arrived);
  books.cycles_per_second = double(cycle) * CLOCKS_PER_SEC / double(std::clock() - begin);
  return books;
}

static void print(const char *name, const Books &books) {
  std::printf("%-10s %llu packets sent, %llu arrived, mean latency %.2f, %.0f cycles per second\n",
              name, (unsigned long long)books.sent, (unsigned long long)books.arrived,
              books.latency, books.cycles_per_second);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "beside LOAD CYCLES [NAME=VALUE of BookSim2]...\n");
    return 2;
  }
  const double load = std::atof(argv[1]);
  const long cycles = std::atol(argv[2]);
  BookSimConfig config;
  for (int i = 3; i < argc; i++) {
    const std::string word = argv[i], name = word.substr(0, word.find('=')),
                      value = word.substr(word.find('=') + 1);
    if (value.find_first_not_of("0123456789") == std::string::npos)
      config.Assign(name, std::stoi(value));
    else
      config.Assign(name, value);
  }
  Theirs theirs(config);
  Ours ours;
  if (theirs.network->NumNodes() != MC_SOURCES || MC_SOURCES != MC_SINKS) {
    std::fprintf(stderr, "the networks have other numbers of terminals\n");
    return 2;
  }
  const Books a = run(theirs, load, cycles), b = run(ours, load, cycles);
  print("BookSim2", a);
  print("multicube", b);
  std::printf("multicube is %.1f times as fast\n", b.cycles_per_second / a.cycles_per_second);
  const bool equal = a.sent_sum == b.sent_sum && a.arrived_sum == a.sent_sum &&
                     b.arrived_sum == b.sent_sum;
  std::printf("the books are %s\n", equal ? "equal" : "NOT equal");
  return equal ? 0 : 1;
}
