#include "nascent/core/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/pickle_fixtures.h"
#include "errors.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

using ::testing::HasSubstr;
using Kind = PickleValue::Kind;

std::string bytes(std::initializer_list<int> values) { return {values.begin(), values.end()}; }

// What each text is: Python's pickle.dumps({'a': [1, -2, 3.5, None, True], 'b': (1, 'x', b'y'), 7: {}}, protocol).
void expect_sample(const PickleValue& root) {
  const auto& list = root.at("a").items();
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0]->integer(), 1);
  EXPECT_EQ(list[1]->integer(), -2);
  EXPECT_EQ(list[2]->real(), 3.5);
  EXPECT_TRUE(list[3]->is(Kind::none));
  EXPECT_TRUE(list[4]->is(Kind::boolean));
  EXPECT_EQ(list[4]->integer(), 1);
  const auto& tuple = root.at("b");
  EXPECT_TRUE(tuple.is(Kind::tuple));
  EXPECT_EQ(tuple.items()[1]->text(), "x");
  EXPECT_TRUE(tuple.items()[2]->is(Kind::bytes));
  EXPECT_EQ(tuple.items()[2]->text(), "y");
  EXPECT_TRUE(root.at(7).entries().empty());
}

TEST(PickleTest, ReadsEveryProtocol) {
  const std::string protocols[] = {
      bytes({40,  100, 112, 48, 10,  86,  97,  10,  112, 49,  10,  40,  108, 112, 50, 10,  73,  49,  10,  97,
             73,  45,  50,  10, 97,  70,  51,  46,  53,  10,  97,  78,  97,  73,  48, 49,  10,  97,  115, 86,
             98,  10,  112, 51, 10,  40,  73,  49,  10,  86,  120, 10,  112, 52,  10, 99,  95,  99,  111, 100,
             101, 99,  115, 10, 101, 110, 99,  111, 100, 101, 10,  112, 53,  10,  40, 86,  121, 10,  112, 54,
             10,  86,  108, 97, 116, 105, 110, 49,  10,  112, 55,  10,  116, 112, 56, 10,  82,  112, 57,  10,
             116, 112, 49,  48, 10,  115, 73,  55,  10,  40,  100, 112, 49,  49,  10, 115, 46}),
      bytes({125, 113, 0,   40,  88,  1,   0,   0,   0,   97,  113, 1,  93,  113, 2,   40,  75,  1,   74,
             254, 255, 255, 255, 71,  64,  12,  0,   0,   0,   0,   0,  0,   78,  73,  48,  49,  10,  101,
             88,  1,   0,   0,   0,   98,  113, 3,   40,  75,  1,   88, 1,   0,   0,   0,   120, 113, 4,
             99,  95,  99,  111, 100, 101, 99,  115, 10,  101, 110, 99, 111, 100, 101, 10,  113, 5,   40,
             88,  1,   0,   0,   0,   121, 113, 6,   88,  6,   0,   0,  0,   108, 97,  116, 105, 110, 49,
             113, 7,   116, 113, 8,   82,  113, 9,   116, 113, 10,  75, 7,   125, 113, 11,  117, 46}),
      bytes({128, 2,   125, 113, 0,   40,  88,  1,   0,   0,  0,   97,  113, 1,   93,  113, 2,   40,  75,
             1,   74,  254, 255, 255, 255, 71,  64,  12,  0,  0,   0,   0,   0,   0,   78,  136, 101, 88,
             1,   0,   0,   0,   98,  113, 3,   75,  1,   88, 1,   0,   0,   0,   120, 113, 4,   99,  95,
             99,  111, 100, 101, 99,  115, 10,  101, 110, 99, 111, 100, 101, 10,  113, 5,   88,  1,   0,
             0,   0,   121, 113, 6,   88,  6,   0,   0,   0,  108, 97,  116, 105, 110, 49,  113, 7,   134,
             113, 8,   82,  113, 9,   135, 113, 10,  75,  7,  125, 113, 11,  117, 46}),
      bytes({128, 3,  125, 113, 0,   40,  88,  1,   0,  0,  0, 97,  113, 1, 93,  113, 2,   40,
             75,  1,  74,  254, 255, 255, 255, 71,  64, 12, 0, 0,   0,   0, 0,   0,   78,  136,
             101, 88, 1,   0,   0,   0,   98,  113, 3,  75, 1, 88,  1,   0, 0,   0,   120, 113,
             4,   67, 1,   121, 113, 5,   135, 113, 6,  75, 7, 125, 113, 7, 117, 46}),
      bytes({128, 4,   149, 51,  0,   0,   0,   0,   0,  0,  0,   125, 148, 40,  140, 1, 97,  148, 93,  148, 40,
             75,  1,   74,  254, 255, 255, 255, 71,  64, 12, 0,   0,   0,   0,   0,   0, 78,  136, 101, 140, 1,
             98,  148, 75,  1,   140, 1,   120, 148, 67, 1,  121, 148, 135, 148, 75,  7, 125, 148, 117, 46}),
      bytes({128, 5,   149, 51,  0,   0,   0,   0,   0,  0,  0,   125, 148, 40,  140, 1, 97,  148, 93,  148, 40,
             75,  1,   74,  254, 255, 255, 255, 71,  64, 12, 0,   0,   0,   0,   0,   0, 78,  136, 101, 140, 1,
             98,  148, 75,  1,   140, 1,   120, 148, 67, 1,  121, 148, 135, 148, 75,  7, 125, 148, 117, 46})};
  for (const auto& text : protocols) expect_sample(parse_pickle(text, "sample").root());
}

// pickle.dumps(collections.OrderedDict([('12', {'x': 1}), ('200', 2)]), protocol)
TEST(PickleTest, ReadsOrderedDictionariesAsDictionaries) {
  const std::string protocols[] = {
      bytes({99,  99,  111, 108, 108, 101, 99,  116, 105, 111, 110, 115, 10, 79,  114, 100, 101, 114,
             101, 100, 68,  105, 99,  116, 10,  112, 48,  10,  40,  116, 82, 112, 49,  10,  86,  49,
             50,  10,  112, 50,  10,  40,  100, 112, 51,  10,  86,  120, 10, 112, 52,  10,  73,  49,
             10,  115, 115, 86,  50,  48,  48,  10,  112, 53,  10,  73,  50, 10,  115, 46}),
      bytes({128, 2,   99,  99,  111, 108, 108, 101, 99,  116, 105, 111, 110, 115, 10, 79,  114, 100,
             101, 114, 101, 100, 68,  105, 99,  116, 10,  113, 0,   41,  82,  113, 1,  40,  88,  2,
             0,   0,   0,   49,  50,  113, 2,   125, 113, 3,   88,  1,   0,   0,   0,  120, 113, 4,
             75,  1,   115, 88,  3,   0,   0,   0,   50,  48,  48,  113, 5,   75,  2,  117, 46}),
      bytes({128, 4,   149, 58,  0,   0,   0,   0,   0,  0,   0,   140, 11,  99,  111, 108, 108, 101,
             99,  116, 105, 111, 110, 115, 148, 140, 11, 79,  114, 100, 101, 114, 101, 100, 68,  105,
             99,  116, 148, 147, 148, 41,  82,  148, 40, 140, 2,   49,  50,  148, 125, 148, 140, 1,
             120, 148, 75,  1,   115, 140, 3,   50,  48, 48,  148, 75,  2,   117, 46})};
  for (const auto& text : protocols) {
    const Pickle pickle = parse_pickle(text, "sample");
    ASSERT_EQ(pickle.root().entries().size(), 2u);
    EXPECT_EQ(pickle.root().entries()[0].first->text(), "12");
    EXPECT_EQ(pickle.root().at("12").at("x").integer(), 1);
    EXPECT_EQ(pickle.root().at("200").integer(), 2);
  }
}

// pickle.dumps(["\u00e9\u20ac\U0001f600\n", {1, 2}, frozenset([3]), b"\x00\xff\xe9", 2**40, -2**62], protocol)
TEST(PickleTest, ReadsTextSetsBytesAndLargeIntegers) {
  const std::string protocols[] = {
      bytes({40,  108, 112, 48,  10,  86,  233, 92,  117, 50,  48,  97,  99,  92,  85,  48,  48,  48,  49,  102, 54,
             48,  48,  92,  117, 48,  48,  48,  97,  10,  112, 49,  10,  97,  99,  95,  95,  98,  117, 105, 108, 116,
             105, 110, 95,  95,  10,  115, 101, 116, 10,  112, 50,  10,  40,  40,  108, 112, 51,  10,  73,  49,  10,
             97,  73,  50,  10,  97,  116, 112, 52,  10,  82,  112, 53,  10,  97,  99,  95,  95,  98,  117, 105, 108,
             116, 105, 110, 95,  95,  10,  102, 114, 111, 122, 101, 110, 115, 101, 116, 10,  112, 54,  10,  40,  40,
             108, 112, 55,  10,  73,  51,  10,  97,  116, 112, 56,  10,  82,  112, 57,  10,  97,  99,  95,  99,  111,
             100, 101, 99,  115, 10,  101, 110, 99,  111, 100, 101, 10,  112, 49,  48,  10,  40,  86,  92,  117, 48,
             48,  48,  48,  255, 233, 10,  112, 49,  49,  10,  86,  108, 97,  116, 105, 110, 49,  10,  112, 49,  50,
             10,  116, 112, 49,  51,  10,  82,  112, 49,  52,  10,  97,  76,  49,  48,  57,  57,  53,  49,  49,  54,
             50,  55,  55,  55,  54,  76,  10,  97,  76,  45,  52,  54,  49,  49,  54,  56,  54,  48,  49,  56,  52,
             50,  55,  51,  56,  55,  57,  48,  52,  76,  10,  97,  46}),
      bytes({128, 2,   93,  113, 0,   40,  88,  10,  0,   0,   0,   195, 169, 226, 130, 172, 240, 159, 152, 128, 10,
             113, 1,   99,  95,  95,  98,  117, 105, 108, 116, 105, 110, 95,  95,  10,  115, 101, 116, 10,  113, 2,
             93,  113, 3,   40,  75,  1,   75,  2,   101, 133, 113, 4,   82,  113, 5,   99,  95,  95,  98,  117, 105,
             108, 116, 105, 110, 95,  95,  10,  102, 114, 111, 122, 101, 110, 115, 101, 116, 10,  113, 6,   93,  113,
             7,   75,  3,   97,  133, 113, 8,   82,  113, 9,   99,  95,  99,  111, 100, 101, 99,  115, 10,  101, 110,
             99,  111, 100, 101, 10,  113, 10,  88,  5,   0,   0,   0,   0,   195, 191, 195, 169, 113, 11,  88,  6,
             0,   0,   0,   108, 97,  116, 105, 110, 49,  113, 12,  134, 113, 13,  82,  113, 14,  138, 6,   0,   0,
             0,   0,   0,   1,   138, 8,   0,   0,   0,   0,   0,   0,   0,   192, 101, 46}),
      bytes({128, 4,   149, 55, 0,   0,   0,   0,  0,  0, 0,   93, 148, 40, 140, 10, 195, 169, 226, 130, 172, 240,
             159, 152, 128, 10, 148, 143, 148, 40, 75, 1, 75,  2,  144, 40, 75,  3,  145, 148, 67,  3,   0,   255,
             233, 148, 138, 6,  0,   0,   0,   0,  0,  1, 138, 8,  0,   0,  0,   0,  0,   0,   0,   192, 101, 46})};
  for (const auto& text : protocols) {
    const Pickle pickle = parse_pickle(text, "sample");
    const auto& items = pickle.root().items();
    EXPECT_EQ(items[0]->text(), "\u00e9\u20ac\U0001f600\n");
    EXPECT_TRUE(items[1]->is(Kind::set));
    EXPECT_EQ(items[1]->items().size(), 2u);
    EXPECT_EQ(items[2]->items()[0]->integer(), 3);
    EXPECT_EQ(items[3]->text(), bytes({0, 255, 0xe9}));
    EXPECT_EQ(items[4]->integer(), int64_t{1} << 40);
    EXPECT_EQ(items[5]->integer(), -(int64_t{1} << 62));
  }
}

TEST(PickleTest, ReadsIntegersOfEveryWidth) {
  const Pickle pickle = parse_pickle(bytes({0x80, 2,    '(',  'K', 255, 'M',  0x34, 0x12, 'J', 0xfe, 0xff,
                                            0xff, 0xff, 0x8a, 2,   0,   0x80, 0x8a, 0,    't', '.'}),
                                     "x");
  const auto& items = pickle.root().items();
  const int64_t expected[] = {255, 0x1234, -2, -32768, 0};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(items[i]->integer(), expected[i]);
}

TEST(PickleTest, SharedValuesAndCirclesAreKept) {
  const Pickle pickle = parse_pickle(
      "\x80\x02]q\x01h\x01"
      "a.",
      "x");
  EXPECT_EQ(pickle.root().items()[0], &pickle.root());
}

TEST(PickleTest, KnowsNumpysArraysAndScalars) {
  const std::string array = cifar_pickle({1}, "labels", cifar_planes(1));
  const Pickle pickle = parse_pickle(array, "x");
  EXPECT_EQ(pickle.root().at("data").array().shape, (std::vector<int64_t>{1, 3072}));
  EXPECT_EQ(pickle.root().at("data").array().number(3), static_cast<uint8_t>(cifar_planes(1)[3]));
  std::string type = "cnumpy\ndtype\n(U\x02";
  type += std::string("f8K\0K\x01tR(K\x03U\x01<NNNtb", 19);
  const double value = 94.5;
  std::string raw(8, '\0');
  std::memcpy(raw.data(), &value, 8);
  const Pickle scalar = parse_pickle("cnumpy.core.multiarray\nscalar\n(" + type + "U\x08" + raw + "tR.", "x");
  EXPECT_EQ(scalar.root().real(), 94.5);
}

TEST(PickleTest, NeverCallsWhatItReads) {
  const Pickle pickle = parse_pickle("cposix\nsystem\n(S'touch owned'\ntR.", "x");
  EXPECT_TRUE(pickle.root().is(Kind::object));
  EXPECT_EQ(pickle.root().object_name(), "posix.system");
  EXPECT_EQ(pickle.root().items()[0]->text(), "touch owned");
}

TEST(PickleTest, CorruptPicklesAreErrorsWithAnOffset) {
  EXPECT_EQ(error_of([] { parse_pickle("", "f"); }),
            "f is not a readable pickle: it ends where 1 more bytes were expected (at byte 0).");
  EXPECT_THAT(error_of([] { parse_pickle("(lq\x05z", "f"); }), HasSubstr("unknown instruction 0x7a (at byte 4)"));
  EXPECT_THAT(error_of([] { parse_pickle("K\x01K", "f"); }), HasSubstr("(at byte 2)"));
  EXPECT_THAT(error_of([] { parse_pickle("a.", "f"); }), HasSubstr("a value is missing (at byte 0)"));
  EXPECT_THAT(error_of([] { parse_pickle("t.", "f"); }), HasSubstr("a mark is missing"));
  EXPECT_THAT(error_of([] { parse_pickle("h\x07.", "f"); }), HasSubstr("memo 7 is used before it is set"));
  EXPECT_THAT(error_of([] { parse_pickle("\x80\x09.", "f"); }), HasSubstr("protocol 9; 0 to 5 can be read"));
  EXPECT_THAT(error_of([] { parse_pickle("T\xff\xff\xff\xff.", "f"); }), HasSubstr("it ends where"));
  EXPECT_THAT(error_of([] { parse_pickle("I12x\n.", "f"); }), HasSubstr("'12x' is not a 64-bit integer"));
}

// Whatever is cut off or changed, reading ends in a value or an Error, never otherwise.
TEST(PickleTest, SurvivesEveryCutAndEveryChangedByte) {
  const std::string whole = cifar_pickle({1}, "labels", std::string(3072, 'x'));
  const size_t header = whole.find("xxxx");
  for (size_t i = 0; i < header; ++i) {
    EXPECT_NE(error_of([&] { parse_pickle(whole.substr(0, i), "f"); }), "");
    for (int change = 1; change < 256; change += 2) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      try {
        parse_pickle(changed, "f");
      } catch (const Error&) {  // as good as a value
      }
    }
  }
}

TEST(PickleTest, WrongKindsAreNamed) {
  const Pickle pickle = parse_pickle("K\x01.", "x");
  EXPECT_EQ(error_of([&] { pickle.root().items(); }), "A pickle holds an integer where a list was expected.");
  EXPECT_EQ(error_of([&] { parse_pickle("}.", "x").root().at("k"); }), "A pickle's dict lacks the key 'k'.");
}

}  // namespace
}  // namespace nascent
