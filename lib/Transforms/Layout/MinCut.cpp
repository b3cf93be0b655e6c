//===- MinCut.cpp - the cheapest division of a graph in two -------------------------------------------------------===//
#include "MinCut.h"
#include <algorithm>

namespace mopt {

/// Arcs looked at. Real models need some thousands; a graph made to be hard must not keep the compiler busy.
constexpr int64_t maxSteps = int64_t(1) << 27;

void MinCut::addEdge(unsigned from, unsigned to, int64_t cost) {
  edges[from].push_back(arcs.size());
  arcs.push_back({to, cost, cost});
  edges[to].push_back(arcs.size());
  arcs.push_back({from, 0, 0});
}

bool MinCut::findLevels() {
  level.assign(edges.size(), -1);
  std::vector<unsigned> queue{source};
  level[source] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned arc : edges[queue[i]]) {
      ++steps;
      if (arcs[arc].left > 0 && level[arcs[arc].to] < 0) {
        level[arcs[arc].to] = level[queue[i]] + 1;
        queue.push_back(arcs[arc].to);
      }
    }
  return level[sink] >= 0;
}

/// Fills all shortest paths; no recursion, since a path may be as long as the model.
bool MinCut::augment() {
  next.assign(edges.size(), 0);
  std::vector<unsigned> path; // arcs
  unsigned node = source;
  while (true) {
    if (++steps > maxSteps)
      return false;
    if (node == sink) {
      int64_t least = infinite;
      for (unsigned arc : path)
        least = std::min(least, arcs[arc].left);
      size_t keep = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        arcs[path[i]].left -= least;
        arcs[path[i] ^ 1].left += least;
        if (arcs[path[i]].left == 0)
          keep = i;
      }
      steps += static_cast<int64_t>(path.size());
      node = arcs[path[keep] ^ 1].to;
      path.resize(keep);
      continue;
    }
    unsigned &at = next[node], from = node;
    for (; at < edges[from].size(); ++at, ++steps) {
      const Arc &arc = arcs[edges[from][at]];
      if (arc.left > 0 && level[arc.to] == level[from] + 1)
        break;
    }
    if (at < edges[from].size()) {
      path.push_back(edges[from][at]);
      node = arcs[path.back()].to;
      continue;
    }
    if (node == source)
      return true;
    level[node] = -1;
    node = arcs[path.back() ^ 1].to;
    path.pop_back();
  }
}

bool MinCut::solve() {
  while (findLevels())
    if (!augment())
      return false;
  return true;
}

std::vector<bool> MinCut::sourceSide() const {
  std::vector<bool> reachesSink(edges.size(), false), side(edges.size(), false);
  std::vector<unsigned> queue{sink};
  reachesSink[sink] = true;
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned arc : edges[queue[i]])
      if (unsigned from = arcs[arc].to; arcs[arc ^ 1].left > 0 && !reachesSink[from]) {
        reachesSink[from] = true;
        queue.push_back(from);
      }
  queue = {source};
  side[source] = true;
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned arc : edges[queue[i]]) {
      unsigned to = arcs[arc].to;
      bool connected = arcs[arc].cost > 0 || arcs[arc ^ 1].cost > 0;
      if (connected && !reachesSink[to] && !side[to]) {
        side[to] = true;
        queue.push_back(to);
      }
    }
  return side;
}

} // namespace mopt
