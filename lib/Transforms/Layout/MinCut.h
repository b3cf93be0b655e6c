//===- MinCut.h - the cheapest division of a graph in two ---------------------------------------------------------===//
#ifndef MOPT_LIB_TRANSFORMS_LAYOUT_MINCUT_H
#define MOPT_LIB_TRANSFORMS_LAYOUT_MINCUT_H

#include "mopt/Support/LLVM.h"
#include <cstdint>
#include <vector>

namespace mopt {

/// Maximum flow by shortest augmenting paths (Dinic). Same graph, same division: no clocks, no hashes.
class MinCut {
public:
  /// Larger than any sum of costs; an edge of it is never cut.
  static constexpr int64_t infinite = int64_t(1) << 60;
  enum : unsigned { source = 0, sink = 1 };

  MinCut() : edges(2) {}
  unsigned addNode() {
    edges.emplace_back();
    return edges.size() - 1;
  }
  /// Dividing so that `from` is on the source's side and `to` is not costs `cost`.
  void addEdge(unsigned from, unsigned to, int64_t cost);
  /// False when the graph asks for more than a bounded number of steps.
  bool solve();
  /// After solve: of all cheapest divisions, the one with most nodes on the side of the source, less what no path of edges
  /// connects with the source there.
  std::vector<bool> sourceSide() const;

private:
  struct Arc {
    unsigned to;
    int64_t left, cost;
  };
  bool findLevels();
  bool augment();

  std::vector<Arc> arcs; // the reverse of arc i is arc i ^ 1
  std::vector<std::vector<unsigned>> edges;
  std::vector<int> level;
  std::vector<unsigned> next;
  int64_t steps = 0;
};

} // namespace mopt
#endif
