#include "errors.h"
#include "nascent/core/random.h"
#include "nascent/space/genotype.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kDarts =
    "Genotype(normal=[('sep_conv_3x3', 0), ('skip_connect', 1)], normal_concat=range(2, 3), "
    "reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1)], reduce_concat=[2])";

TEST(GenotypeText, RoundTripsInEveryFormOfEverySpace) {
  for (const std::string& name : Space::Registry::instance().names()) {
    const auto space = find_space(name);
    for (uint64_t seed = 0; seed < 50; ++seed) {
      RandomStream random(seed, "round trip");
      const Genotype genotype = space->sample(random);
      for (const std::string& form : text_forms(genotype)) {
        const std::string text = to_text(genotype, form);
        EXPECT_EQ(parse_genotype(text, form, name), genotype) << text;
        EXPECT_EQ(parse_genotype(text, "", name), genotype) << text;
      }
    }
  }
}

TEST(GenotypeText, FormsThatCanExpressAGenotype) {
  EXPECT_THAT(text_forms(find_genotype("darts-v2")), ElementsAre("json", "darts"));
  EXPECT_THAT(text_forms(find_genotype("amoebanet")), ElementsAre("json", "darts"));
  EXPECT_THAT(text_forms(find_genotype("nasbench201:0")), ElementsAre("json", "nasbench201"));
  EXPECT_THAT(text_forms(find_genotype("nasbench1shot1-s1:0")), ElementsAre("json", "nasbench101"));
  EXPECT_THAT(text_forms(find_genotype("nasbench101:100")), ElementsAre("json", "nasbench101"));
  EXPECT_EQ(error_of([] { to_text(find_genotype("darts-v2"), "nasbench201"); }),
            "The form 'nasbench201' cannot express this genotype: it is not one cell, of type 'cell', with one input. "
            "It can be "
            "written as json, darts.");
  EXPECT_THAT(error_of([] { to_text(find_genotype("darts-v2"), "yaml"); }),
              HasSubstr("There is no genotype form 'yaml'."));
}

TEST(DartsText, AcceptsWhatPeopleWrite) {
  const Genotype expected = parse_genotype(kDarts, "darts", "tiny");
  EXPECT_EQ(expected.cell("normal").nodes[0].edges[1], (GenotypeEdge{1, "skip_connect"}));
  EXPECT_EQ(expected.cell("reduce").output, std::vector<int>{2});
  const char* const variants[] = {
      "BEST = Genotype(\n  normal = [ (\"sep_conv_3x3\", 0), (\"skip_connect\", 1), ],\n  normal_concat = [2],\n"
      "  reduce = [('max_pool_3x3', 0), ('max_pool_3x3', 1)],\n  reduce_concat = range(2, 3),\n)\n",
      "Genotype(reduce_concat=(2,),reduce=[('max_pool_3x3',0),('max_pool_3x3',1)],normal_concat=[2],"
      "normal=[('sep_conv_3x3',0),('skip_connect',1)])",
  };
  for (const char* text : variants) EXPECT_EQ(parse_genotype(text, "", "tiny"), expected);
}

TEST(DartsText, FindsItsSpace) {
  EXPECT_EQ(parse_genotype(to_text(find_genotype("snas"), "darts")).space, "darts");
  EXPECT_EQ(parse_genotype(to_text(find_genotype("enas"), "darts")).space, "nasnet");
  EXPECT_THAT(error_of([] { parse_genotype(kDarts); }), HasSubstr("belongs neither to space 'darts' nor to 'nasnet'"));
}

TEST(DartsText, ErrorsPointAtThePlace) {
  EXPECT_EQ(error_of([] {
              parse_genotype("X = Genotype(normal=[('sep_conv_3x3', 0),\n  ('skip_conect', 1)])");
            }).substr(0, 114),
            "Cannot read the DARTS genotype: 'skip_conect' is not a known operation. Did you mean 'skip_connect'? "
            "Known: avg_po");
  EXPECT_THAT(error_of([] { parse_genotype("X = Genotype(normal=[('sep_conv_3x3', 0),\n  ('skip_conect', 1)])"); }),
              HasSubstr("at line 2, column 4:\n    ('skip_conect', 1)])\n     ^"));
  EXPECT_EQ(error_of([] { parse_genotype("Genotype(normal=[('sep_conv_3x3' 0)])"); }),
            "Cannot read the DARTS genotype: expected ',' but found '0', at line 1, column 34:\n"
            "  Genotype(normal=[('sep_conv_3x3' 0)])\n"
            "                                   ^");
  EXPECT_THAT(error_of([] { parse_genotype("Genotype(normal=[('none', 2), ('none', 0)])"); }),
              HasSubstr("node 2 takes state 2, but the states before it are 0 to 1, at line 1, column 27"));
  EXPECT_THAT(error_of([] { parse_genotype("Genotype(norml=[])"); }),
              HasSubstr("there is no field 'norml'. Did you mean 'normal'?"));
  EXPECT_THAT(error_of([] { parse_genotype("Genotype(normal=[('none', 0)])"); }),
              HasSubstr("the last node has one edge"));
  EXPECT_THAT(error_of([] { parse_genotype("Genotype(normal_concat=[2])"); }),
              HasSubstr("the field 'normal' is missing"));
  EXPECT_THAT(error_of([] { parse_genotype("Genotype(normal_concat=range(0, 99999999999999999999))"); }),
              HasSubstr("this number is larger than 2000"));
  EXPECT_THAT(error_of([] { parse_genotype("Genotype(normal=[('none"); }), HasSubstr("this quote is never closed"));
  EXPECT_THAT(error_of([] { parse_genotype(std::string(kDarts) + " x"); }),
              HasSubstr("expected the end but found 'x'"));
  std::string text = kDarts;
  text.replace(text.find("range(2, 3)"), 11, "range(2, 4)");
  EXPECT_THAT(error_of([&] { parse_genotype(text); }),
              HasSubstr("the cell 'normal' has states 0 to 2, but its output takes 3"));
}

TEST(NasBench201Text, ErrorsPointAtThePlace) {
  EXPECT_THAT(error_of([] { parse_genotype("|nor_conv_3x3~0|+|nor_conv_3x3~0|skip~1|"); }),
              HasSubstr("'skip' is not a known operation."));
  EXPECT_EQ(error_of([] { parse_genotype("|nor_conv_3x3~0|+|nor_conv_3x3~1|skip_connect~1|"); }),
            "Cannot read the NAS-Bench-201 genotype: expected state 0 here: a node takes all states before it in their "
            "order, at line "
            "1, column 32:\n"
            "  |nor_conv_3x3~0|+|nor_conv_3x3~1|skip_connect~1|\n"
            "                                 ^");
  EXPECT_THAT(error_of([] { parse_genotype("|none~0|+|none~0|none~1|"); }),
              HasSubstr("has 3 nodes, but this one has 2"));
  EXPECT_THAT(error_of([] { parse_genotype("|none~0"); }), HasSubstr("expected '|' but found the end"));
  EXPECT_THAT(error_of([] { parse_genotype("|none~0|+|none~0|+"); }), HasSubstr("'' is not a known operation"));
}

TEST(NasBench101Text, ErrorsNameThePath) {
  const auto error = [](const std::string& text) { return error_of([&] { parse_genotype(text, "nasbench101"); }); };
  EXPECT_EQ(error(R"({"matrix": [[0, 1], [1, 0]], "ops": ["input", "output"]})"),
            "Cannot read the NAS-Bench-101 genotype: in matrix[1][0]: edges must lead from a vertex to a later one: "
            "only entries above "
            "the diagonal may be 1.");
  EXPECT_THAT(error(R"({"matrix": [[0, 1], [0]], "ops": ["input", "output"]})"),
              HasSubstr("in matrix[1]: the row has 1 entries"));
  EXPECT_THAT(error(R"({"matrix": [[0, 2], [0, 0]], "ops": []})"),
              HasSubstr("in matrix[0][1]: expected a whole number from 0 to 1 but found 2"));
  EXPECT_THAT(error(R"({"matrix": [[0, 1], [0, 0]], "ops": ["input"]})"),
              HasSubstr("in ops: there are 1 operations for 2 vertices"));
  EXPECT_THAT(error(R"({"matrix": [[0, 0], [0, 0]], "ops": ["input", "output"]})"),
              HasSubstr("nothing leads to the output"));
}

TEST(JsonText, ErrorsNameThePlace) {
  const auto error = [](const std::string& text) { return error_of([&] { parse_genotype(text, "json"); }); };
  EXPECT_THAT(error("{\"space\": \"darts\",\n \"cells\": ]"),
              HasSubstr("at line 2, column 11:\n   \"cells\": ]\n            ^"));
  EXPECT_THAT(error(R"({"space": "darts", "cels": []})"), HasSubstr("there is no key 'cels'. Did you mean 'cells'?"));
  EXPECT_THAT(error(R"({"cells": []})"), HasSubstr("the key 'space' is missing"));
  const std::string cell =
      R"({"space": "x", "cells": [{"type": "a", "inputs": 1, "nodes": [{"edges": [["none", 1]]}], "output": [1]}]})";
  EXPECT_EQ(error(cell),
            "Cannot read the JSON genotype: in cells[0].nodes[0].edges[0][1]: expected a whole number from 0 to 0 but "
            "found 1.");
  EXPECT_THAT(error(R"({"space": 3, "cells": []})"), HasSubstr("in space: expected text but found 3"));
}

TEST(GenotypeText, UnrecognisedText) {
  EXPECT_THAT(error_of([] { parse_genotype("hello"); }),
              HasSubstr("not a genotype in any known form (darts, json, nasbench101, nasbench201)"));
  EXPECT_THROW(parse_genotype(""), Error);
}

// A few random edits of valid text: characters replaced, dropped, doubled, spans removed or repeated.
std::string damage(std::string text, RandomStream& random) {
  static const std::string kAlphabet = "()[]{}|+~,='\" \n0123456789abcnormal_xse\t\xff\x01-.";
  for (int64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
    const size_t at = random.below(static_cast<int64_t>(text.size()));
    const size_t length = random.below(8);
    switch (random.below(4)) {
      case 0:
        text[at] = kAlphabet[random.below(static_cast<int64_t>(kAlphabet.size()))];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random.below(static_cast<int64_t>(text.size())), length));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

TEST(GenotypeText, DamagedTextParsesOrThrowsError) {
  const std::vector<Genotype> genotypes = {find_genotype("darts-v2"), find_genotype("amoebanet"),
                                           find_genotype("nasbench201:777"), find_genotype("nasbench1shot1-s2:555")};
  int parsed = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed, "damage");
    const Genotype& genotype = genotypes[seed % genotypes.size()];
    const std::vector<std::string> forms = text_forms(genotype);
    const std::string& form = forms[random.below(static_cast<int64_t>(forms.size()))];
    const std::string text = damage(to_text(genotype, form), random);
    for (const std::string& as : {form, std::string()}) {
      try {
        const Genotype read = parse_genotype(text, as, genotype.space);
        EXPECT_FALSE(describe(read).empty());
        ++parsed;
      } catch (const Error& error) {
        EXPECT_GT(std::string(error.what()).size(), 20u);
      }
    }
  }
  EXPECT_GT(parsed, 100);  // some damage is harmless: white space, order
}

TEST(GenotypeText, DeeplyNestedJsonIsAnError) {
  const std::string deep = "{\"space\": " + std::string(200000, '[') + std::string(200000, ']') + ", \"cells\": []}";
  EXPECT_THAT(error_of([&] { parse_genotype(deep); }), HasSubstr("nested more than 64 deep"));
}

}  // namespace
}  // namespace nascent
