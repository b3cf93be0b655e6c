//===- mopt-tblgen.cpp - everything that follows from the op records ----------------------------------------------===//
//
//   -gen-op-table    rows for include/mopt/Dialect/Mopt/OpTable.h: operands, attributes, results, ONNX versions
//   -gen-slots       attribute slots and prototypes of the reference functions (C)
//   -gen-op-docs     the dialect page
//   -gen-coverage    ONNX operators and the versions that are read, as a table
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mlir/TableGen/Operator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"
#include <map>

using namespace llvm;
using mlir::tblgen::NamedAttribute;
using mlir::tblgen::NamedTypeConstraint;
using mlir::tblgen::Operator;

namespace {

/// An attribute of a record as the tables and the reference functions see it.
struct AttrRow {
  StringRef name;
  StringRef kind; // Int, Float, Ints, Floats, Choice, String, Strings
  bool hasDefault = false, optional = false;
  std::string defaultText = "0"; // a C constant; for a choice its position
  std::vector<StringRef> choices;
};

AttrRow describe(const Operator &op, const NamedAttribute &named) {
  AttrRow row;
  row.name = named.name;
  const Record &def = named.attr.getDef();
  StringRef base = named.attr.getBaseAttr().getAttrDefName();
  row.optional = named.attr.isOptional();
  if (def.getValue("moptInt")) {
    row.kind = "Int";
    row.hasDefault = true;
    row.defaultText = std::to_string(def.getValueAsInt("moptInt"));
  } else if (def.getValue("moptFloat")) {
    row.kind = "Float";
    row.hasDefault = true;
    row.defaultText = def.getValueAsString("moptFloat").str();
  } else if (def.getValue("moptChoices")) {
    row.kind = "Choice";
    row.hasDefault = true;
    row.choices = def.getValueAsListOfStrings("moptChoices");
    auto position = find(row.choices, def.getValueAsString("moptChoice"));
    if (position == row.choices.end())
      PrintFatalError(op.getLoc(), "default of '" + row.name + "' is not one of its choices");
    row.defaultText = std::to_string(position - row.choices.begin());
  } else {
    row.kind = llvm::StringSwitch<StringRef>(base)
                   .Case("I64Attr", "Int")
                   .Case("F32Attr", "Float")
                   .Case("DenseI64ArrayAttr", "Ints")
                   .Case("DenseF32ArrayAttr", "Floats")
                   .Case("StrAttr", "String")
                   .Case("StrArrayAttr", "Strings")
                   .Default("");
    if (row.kind.empty())
      PrintFatalError(op.getLoc(), "attribute '" + row.name + "' has a type that no table knows: " + base);
  }
  return row;
}

bool isOptionalValue(const NamedTypeConstraint &value) {
  return StringRef(value.constraint.getDefName()).starts_with("O_") || value.constraint.getDef().isSubClassOf("Opt");
}

std::vector<const Record *> records(const RecordKeeper &keeper) {
  std::vector<const Record *> out;
  for (const Record *record : keeper.getAllDerivedDefinitions("Mopt_Op"))
    out.push_back(record);
  return out;
}

bool isStructure(const Record *record) { return record->getValueAsString("kind") == "structure"; }

/// "conv_transpose" -> "CONV_TRANSPOSE"
std::string upper(StringRef name) { return name.upper(); }

void emitOpTable(const RecordKeeper &keeper, raw_ostream &os) {
  emitSourceFileHeader("Rows of the op table", os, keeper);
  std::string rows;
  raw_string_ostream list(rows);
  for (const Record *record : records(keeper)) {
    Operator op(*record);
    std::string id = op.getCppClassName().str();
    StringRef mnemonic = record->getValueAsString("opName");
    os << "static constexpr ValueRow " << id << "Operands[] = {";
    for (const NamedTypeConstraint &v : op.getOperands())
      os << "{\"" << v.name << "\", " << isOptionalValue(v) << ", " << v.isVariadic() << "}, ";
    os << "{}};\nstatic constexpr ValueRow " << id << "Results[] = {";
    for (const NamedTypeConstraint &v : op.getResults())
      os << "{\"" << v.name << "\", " << isOptionalValue(v) << ", " << v.isVariadic() << "}, ";
    os << "{}};\n";
    unsigned attributes = 0;
    std::string attributeRows;
    raw_string_ostream attrs(attributeRows);
    if (!isStructure(record))
      for (const NamedAttribute &named : op.getAttributes()) {
        if (named.attr.isDerivedAttr())
          continue;
        AttrRow row = describe(op, named);
        os << "static constexpr const char *const " << id << "_" << row.name << "[] = {";
        for (StringRef choice : row.choices)
          os << "\"" << choice << "\", ";
        os << "nullptr};\n";
        attrs << "{\"" << row.name << "\", AttrKind::" << row.kind << ", " << row.optional << ", " << row.hasDefault << ", "
              << row.defaultText << ", " << id << "_" << row.name << ", " << row.choices.size() << "}, ";
        ++attributes;
      }
    os << "static constexpr AttrRow " << id << "Attrs[] = {" << attrs.str() << "{}};\n";
    auto ranges = record->getValueAsListOfDefs("onnx");
    for (auto [i, range] : enumerate(ranges))
      for (StringRef field : {"attrInputs", "set"}) {
        os << "static constexpr const char *const " << id << field << i << "[] = {";
        for (StringRef text : range->getValueAsListOfStrings(field))
          os << "\"" << text << "\", ";
        os << "nullptr};\n";
      }
    os << "static constexpr OnnxRow " << id << "Onnx[] = {";
    for (auto [i, range] : enumerate(ranges))
      os << "{\"" << range->getValueAsString("name") << "\", \"" << range->getValueAsString("domain") << "\", "
         << range->getValueAsInt("since") << ", " << range->getValueAsInt("until") << ", " << id << "attrInputs" << i << ", "
         << id << "set" << i << ", \"" << range->getValueAsString("adapter") << "\"}, ";
    os << "{}};\n";
    list << "  {\"mopt." << mnemonic << "\", \"" << mnemonic << "\", OpKind::" << record->getValueAsString("kind")
         << ", UnitKind::" << record->getValueAsDef("units")->getValueAsString("kind") << ", \""
         << record->getValueAsString("scalar") << "\", \"" << record->getValueAsString("index") << "\", \""
         << record->getValueAsString("quantClass") << "\", \"" << record->getValueAsString("numericClass") << "\", " << id
         << "Operands, " << op.getNumOperands() << ", " << id << "Results, " << op.getNumResults() << ", " << id << "Attrs, "
         << attributes << ", " << id << "Onnx, " << ranges.size() << ", MOPT_REFERENCE("
         << (isStructure(record) ? "none" : mnemonic) << ")},\n";
  }
  os << "static constexpr OpRow opRows[] = {\n" << list.str() << "};\n";
}

void emitSlots(const RecordKeeper &keeper, raw_ostream &os) {
  emitSourceFileHeader("Attribute slots and prototypes of the reference functions", os, keeper);
  for (const Record *record : records(keeper)) {
    if (isStructure(record))
      continue;
    Operator op(*record);
    StringRef mnemonic = record->getValueAsString("opName");
    os << "\n/* " << mnemonic << ": operands";
    for (auto [i, v] : enumerate(op.getOperands()))
      os << " " << i << "=" << v.name << (v.isVariadic() ? "..." : isOptionalValue(v) ? "?" : "");
    os << "; results";
    for (auto [i, v] : enumerate(op.getResults()))
      os << " " << i << "=" << v.name << (v.isVariadic() ? "..." : isOptionalValue(v) ? "?" : "");
    os << "; units: " << record->getValueAsDef("units")->getValueAsString("kind") << " */\n";
    std::vector<AttrRow> rows;
    for (const NamedAttribute &named : op.getAttributes())
      if (!named.attr.isDerivedAttr())
        rows.push_back(describe(op, named));
    if (!rows.empty()) {
      os << "enum {";
      for (auto [i, row] : enumerate(rows))
        os << (i ? ", " : " ") << "MOPT_" << upper(mnemonic) << "_" << upper(row.name) << " = " << i << " /* " << row.kind
           << " */";
      os << " };\n";
      for (const AttrRow &row : rows) {
        if (row.choices.empty())
          continue;
        os << "enum {";
        for (auto [i, choice] : enumerate(row.choices))
          os << (i ? ", " : " ") << "MOPT_" << upper(mnemonic) << "_" << upper(row.name) << "_" << upper(choice) << " = "
             << i;
        os << " };\n";
      }
    }
    os << "int32_t mopt_ref_" << mnemonic
       << "(const mopt_tensor *in, int32_t nin, const mopt_tensor *out, int32_t nout, const mopt_attr *attr,\n"
          "    int64_t begin, int64_t end, mopt_fault *fault);\n";
  }
}

void emitDocs(const RecordKeeper &keeper, raw_ostream &os) {
  os << "# The mopt dialect\n\nGenerated from the op records. Optional operands end in `?`, variadic ones in `...`.\n";
  for (const Record *record : records(keeper)) {
    Operator op(*record);
    os << "\n## `mopt." << record->getValueAsString("opName") << "`\n\n";
    if (StringRef text = op.getSummary(); !text.empty())
      os << text << "\n\n";
    if (StringRef index = record->getValueAsString("index"); !index.empty())
      os << "Index notation: `" << index << "`\n\n";
    auto values = [&](StringRef title, auto range) {
      os << "* " << title << ":";
      bool any = false;
      for (const NamedTypeConstraint &v : range) {
        os << (any ? ", " : " ") << "`" << v.name << (v.isVariadic() ? "..." : isOptionalValue(v) ? "?" : "") << "`";
        any = true;
      }
      os << (any ? "\n" : " none\n");
    };
    values("Operands", op.getOperands());
    values("Results", op.getResults());
    if (!isStructure(record))
      for (const NamedAttribute &named : op.getAttributes()) {
        if (named.attr.isDerivedAttr())
          continue;
        AttrRow row = describe(op, named);
        os << "* Attribute `" << row.name << "` (" << row.kind << ")";
        if (!row.choices.empty())
          os << ": " << join(row.choices, ", ");
        if (row.hasDefault)
          os << "; default " << (row.choices.empty() ? row.defaultText : row.choices[std::stoul(row.defaultText)].str());
        os << "\n";
      }
    os << "* Kind: " << record->getValueAsString("kind") << "; numeric class: " << record->getValueAsString("numericClass")
       << "; quantization class: " << record->getValueAsString("quantClass")
       << "; chunks: " << record->getValueAsDef("units")->getValueAsString("kind") << "\n";
    if (StringRef text = record->getValueAsString("undefinedWhen"); !text.empty())
      os << "* Where ONNX leaves it open: " << text << "\n";
    for (const Record *range : record->getValueAsListOfDefs("onnx")) {
      os << "* ONNX `" << range->getValueAsString("name") << "` from opset " << range->getValueAsInt("since");
      if (int64_t until = range->getValueAsInt("until"))
        os << " to " << until;
      os << "\n";
    }
  }
}

void emitCoverage(const RecordKeeper &keeper, raw_ostream &os) {
  std::map<std::string, std::string> rows;
  for (const Record *record : records(keeper))
    for (const Record *range : record->getValueAsListOfDefs("onnx")) {
      std::string &row = rows[range->getValueAsString("name").str()];
      int64_t until = range->getValueAsInt("until");
      row += (row.empty() ? "" : ", ") + std::to_string(range->getValueAsInt("since")) + "-" +
             (until ? std::to_string(until) : "newest") + " -> `mopt." + record->getValueAsString("opName").str() + "`";
    }
  os << "# ONNX operators that are read\n\nGenerated from the op records; versions are operator versions of the default "
        "domain. Operators that ONNX defines by a function body are read through that body.\n\n| operator | versions "
        "|\n|---|---|\n";
  for (const auto &[name, text] : rows)
    os << "| " << name << " | " << text << " |\n";
}

TableGen::Emitter::Opt opTable("gen-op-table", emitOpTable, "op table");
TableGen::Emitter::Opt slots("gen-slots", emitSlots, "slots and prototypes of the reference functions");
TableGen::Emitter::Opt docs("gen-op-docs", emitDocs, "dialect page");
TableGen::Emitter::Opt coverage("gen-coverage", emitCoverage, "coverage matrix");

} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "mopt-tblgen: tables, headers and pages from op records\n");
  return TableGenMain(argv[0], TableGenMainFn());
}
