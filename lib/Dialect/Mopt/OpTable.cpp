//===- OpTable.cpp - the op records as data -----------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "llvm/ADT/StringMap.h"

extern "C" {
#include "mopt/Reference/Slots.h.inc"
}

namespace mopt {
namespace {
constexpr mopt_reference mopt_ref_none = nullptr;
#define MOPT_REFERENCE(mnemonic) mopt_ref_##mnemonic
#include "mopt/Dialect/Mopt/OpTable.inc"
#undef MOPT_REFERENCE
} // namespace

ArrayRef<OpRow> opTable() { return opRows; }

const OpRow *findOp(StringRef opName) {
  static const llvm::StringMap<const OpRow *> index = [] {
    llvm::StringMap<const OpRow *> map;
    for (const OpRow &row : opRows)
      map[row.name] = &row;
    return map;
  }();
  return index.lookup(opName);
}

std::pair<const OpRow *, const OnnxRow *> findOnnx(StringRef name, StringRef domain, int64_t opset) {
  using Entry = std::pair<const OpRow *, const OnnxRow *>;
  static const llvm::StringMap<SmallVector<Entry, 2>> index = [] {
    llvm::StringMap<SmallVector<Entry, 2>> map;
    for (const OpRow &row : opRows)
      for (const OnnxRow &range : row.onnxRows())
        map[(Twine(range.domain) + ":" + range.name).str()].push_back({&row, &range});
    return map;
  }();
  auto found = index.find((Twine(domain == "ai.onnx" ? "" : domain) + ":" + name).str());
  if (found != index.end())
    for (Entry entry : found->second)
      if (opset >= entry.second->since && (!entry.second->until || opset <= entry.second->until))
        return entry;
  return {nullptr, nullptr};
}

static Attribute inherent(Operation *op, StringRef name) {
  if (std::optional<Attribute> attr = op->getInherentAttr(name); attr && *attr)
    return *attr;
  return op->getDiscardableAttr(name);
}

AttrValues::AttrValues(Operation *op) {
  if (const OpRow *row = findOp(op))
    fill(*row, [&](StringRef name) { return inherent(op, name); });
}

AttrValues::AttrValues(const OpRow &row, DictionaryAttr attrs) {
  fill(row, [&](StringRef name) { return attrs.get(name); });
}

void AttrValues::fill(const OpRow &row, llvm::function_ref<Attribute(StringRef)> get) {
  unsigned n = row.numAttrs;
  values.assign(n, {nullptr, 0});
  ints.resize(n);
  floats.resize(n);
  strings.resize(n);
  for (auto [i, attr] : llvm::enumerate(row.attrRows())) {
    Attribute given = get(attr.name);
    if (!given && !attr.hasDefault)
      continue;
    switch (attr.kind) {
    case AttrKind::Int:
      ints[i] = {given ? cast<IntegerAttr>(given).getInt() : static_cast<int64_t>(attr.defaultValue)};
      break;
    case AttrKind::Ints:
      ints[i] = cast<DenseI64ArrayAttr>(given).asArrayRef().vec();
      break;
    case AttrKind::Choice: {
      int64_t position = static_cast<int64_t>(attr.defaultValue);
      if (given)
        for (unsigned c = 0; c < attr.numChoices; ++c)
          if (cast<StringAttr>(given).getValue() == attr.choices[c])
            position = c;
      ints[i] = {position};
      break;
    }
    case AttrKind::Float:
      // A default is the float the record names, so that both ways of giving it mean the same bits.
      floats[i] = {given ? cast<FloatAttr>(given).getValueAsDouble() : attr.defaultValue};
      break;
    case AttrKind::Floats:
      for (float f : cast<DenseF32ArrayAttr>(given).asArrayRef())
        floats[i].push_back(f);
      break;
    case AttrKind::String:
      strings[i] = cast<StringAttr>(given).getValue().str();
      break;
    case AttrKind::Strings:
      for (Attribute text : cast<ArrayAttr>(given))
        strings[i] += (strings[i].empty() ? "" : "\n") + cast<StringAttr>(text).getValue().str();
      break;
    }
    if (!ints[i].empty())
      values[i] = {ints[i].data(), static_cast<int64_t>(ints[i].size())};
    else if (!floats[i].empty())
      values[i] = {floats[i].data(), static_cast<int64_t>(floats[i].size())};
    else if (!strings[i].empty())
      values[i] = {strings[i].data(), static_cast<int64_t>(strings[i].size())};
  }
}

bool isChannelsLast(Operation *op) { return attrInt(op, "channels_last") != 0; }

bool isChannelsLast(const OpRow &row, DictionaryAttr attrs) {
  auto given = attrs ? attrs.getAs<IntegerAttr>("channels_last") : IntegerAttr();
  return given && given.getInt() != 0 &&
         llvm::any_of(row.attrRows(), [](const AttrRow &attr) { return StringRef(attr.name) == "channels_last"; });
}

int64_t attrInt(Operation *op, StringRef name) {
  if (Attribute given = inherent(op, name))
    if (auto value = dyn_cast<IntegerAttr>(given))
      return value.getInt();
  if (const OpRow *row = findOp(op))
    for (const AttrRow &attr : row->attrRows())
      if (name == attr.name)
        return static_cast<int64_t>(attr.defaultValue);
  return 0;
}

} // namespace mopt
