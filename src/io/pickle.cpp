#include "io/pickle.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace mdsm::io {

using Kind = PickleValue::Kind;

namespace {
constexpr size_t kValueLimit = 1'000'000;  // a state dict takes about 20 values a tensor
}  // namespace

// The stack machine of the format, limited to what state dicts need.
class PickleReader {
 public:
  PickleReader(PickleDocument& document, std::span<const std::byte> bytes, size_t begin,
               const PickleRules& rules, const std::string& where)
      : document_(document), bytes_(bytes), at_(begin), rules_(rules), where_(where) {}

  void run() {
    while (!done_) step(take<uint8_t>());
    document_.end_ = at_;
  }

 private:
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(uint64_t count) {
    if (at_ > bytes_.size() || count > bytes_.size() - at_)
      fail("the file is cut short; copy it again", "{}: the pickle ends in the middle", where_);
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  std::string text(uint64_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  std::string line() {
    const auto rest = bytes_.subspan(std::min(at_, bytes_.size()));
    const auto end = std::find(rest.begin(), rest.end(), std::byte{'\n'});
    std::string result = text(static_cast<uint64_t>(end - rest.begin()));
    take(1);
    return result;
  }

  PickleValue& value(uint32_t index) { return document_.values_[index]; }
  uint32_t add(Kind kind) {
    if (document_.values_.size() >= kValueLimit)
      fail(rules_.refused, "{}: more than {} values in the pickle", where_, kValueLimit);
    document_.values_.emplace_back().kind = kind;
    return static_cast<uint32_t>(document_.values_.size() - 1);
  }
  void push(uint32_t index) {
    if (stack_.size() >= kValueLimit) fail(rules_.refused, "{}: the pickle is too large", where_);
    stack_.push_back(index);
  }
  PickleValue& push_new(Kind kind) {
    push(add(kind));
    return value(stack_.back());
  }
  void push_integer(int64_t number) { push_new(Kind::integer).integer = number; }
  void push_boolean(bool flag) { push_new(Kind::boolean).integer = flag; }

  // Items above the last mark belong to the innermost open group; nothing reaches below it.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void need(size_t count) const {
    if (stack_.size() - floor() < count)
      fail(rules_.damaged, "{}: the pickle takes what is not there", where_);
  }
  uint32_t pop() {
    need(1);
    const uint32_t index = stack_.back();
    stack_.pop_back();
    return index;
  }
  uint32_t top() const {
    need(1);
    return stack_.back();
  }
  std::vector<uint32_t> pop_last(size_t count) {
    need(count);
    std::vector<uint32_t> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  void mark() {
    if (marks_.size() >= kValueLimit) fail(rules_.refused, "{}: the pickle is too large", where_);
    marks_.push_back(stack_.size());
  }
  std::vector<uint32_t> pop_group() {
    if (marks_.empty()) fail(rules_.damaged, "{}: the pickle closes what was not opened", where_);
    std::vector<uint32_t> items = pop_last(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  void push_tuple(std::vector<uint32_t> items) { push_new(Kind::tuple).items = std::move(items); }
  void push_global(const std::string& module, const std::string& name) {
    const std::string full = module + " " + name;
    if (std::ranges::find(rules_.allowed, full) == rules_.allowed.end())
      fail(rules_.refused, "{}: holds a '{}.{}', which is refused", where_, module, name);
    push_new(Kind::global).text = full;
  }
  void push_long(size_t bytes) {
    const std::string digits = text(bytes);
    if (bytes > 8) {
      push_new(Kind::big_integer).text = digits;
      return;
    }
    uint64_t number = !digits.empty() && (digits.back() & 0x80) ? ~uint64_t{0} : 0;  // two's complement
    std::memcpy(&number, digits.data(), digits.size());
    push_integer(static_cast<int64_t>(number));
  }
  void push_real() {
    uint64_t bits = take<uint64_t>();  // the one big-endian number of the format
    bits = __builtin_bswap64(bits);
    std::memcpy(&push_new(Kind::real).real, &bits, sizeof bits);
  }
  void extend(Kind kind, std::vector<uint32_t> items) {
    PickleValue& target = value(top());
    if (target.kind != kind || (kind == Kind::dict && items.size() % 2 != 0))
      fail(rules_.damaged, "{}: the pickle fills a container that is none", where_);
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  // An OrderedDict becomes a dict; its argument, if any, is a list of pairs. Other calls are only noted.
  void call() {
    const uint32_t arguments = pop(), function = pop();
    if (value(function).kind != Kind::global || value(arguments).kind != Kind::tuple)
      fail(rules_.damaged, "{}: the pickle calls what is no function", where_);
    if (value(function).text == "collections OrderedDict") return make_dict(arguments);
    const uint32_t index = add(Kind::call);
    value(index).text = value(function).text;
    value(index).items = copied(arguments);
    push(index);
  }
  void make_dict(uint32_t arguments) {
    std::vector<uint32_t> entries;
    if (!value(arguments).items.empty())
      for (const uint32_t pair : copied(value(arguments).items[0])) {
        if (value(pair).items.size() != 2) fail(rules_.damaged, "{}: an OrderedDict of no pairs", where_);
        entries.insert(entries.end(), value(pair).items.begin(), value(pair).items.end());
      }
    const uint32_t dict = add(Kind::dict);
    value(dict).items = std::move(entries);
    push(dict);
  }
  // A short pickle may name one long list many times, so copies are counted.
  std::vector<uint32_t> copied(uint32_t index) {
    const std::vector<uint32_t>& items = value(index).items;
    copies_ += items.size();
    if (copies_ > 4 * kValueLimit) fail(rules_.refused, "{}: the pickle is too large", where_);
    return items;
  }
  // Attributes of a dict (PyTorch keeps module versions there) say nothing about the weights.
  void set_state() {
    const uint32_t state = pop();
    PickleValue& target = value(top());
    if (rules_.keep_state && target.kind == Kind::call)
      target.state = {state};
    else if (target.kind != Kind::dict)
      fail(rules_.refused, "{}: holds an object with a state of its own", where_);
  }
  void global_from_stack() {
    const uint32_t name = pop(), module = pop();
    if (value(name).kind != Kind::text || value(module).kind != Kind::text)
      fail(rules_.damaged, "{}: the pickle names no class", where_);
    push_global(std::string(value(module).text), std::string(value(name).text));
  }
  void storage() {
    const uint32_t id = pop();
    if (value(id).kind != Kind::tuple) fail(rules_.damaged, "{}: the pickle refers to no storage", where_);
    const uint32_t index = add(Kind::storage);
    value(index).items = copied(id);
    push(index);
  }
  void remember(uint64_t slot) {
    if (memo_.size() >= kValueLimit) fail(rules_.refused, "{}: the pickle is too large", where_);
    memo_[slot] = top();
  }
  void recall(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) fail(rules_.damaged, "{}: the pickle recalls what it never kept", where_);
    push(found->second);
  }
  void stop() {
    document_.root_ = pop();
    done_ = true;
  }
  void protocol(int version) {
    if (version < 2 || version > 5)
      fail(rules_.damaged, "{}: pickle protocol {} is not known", where_, version);
  }

  // clang-format off
  void step(uint8_t opcode) {
    switch (opcode) {
      case 0x80: return protocol(take<uint8_t>());
      case 0x95: take<uint64_t>(); return;  // length of a frame: a hint for buffering
      case '.': return stop();
      case '(': return mark();
      case 'N': push_new(Kind::none); return;
      case 0x88: return push_boolean(true);
      case 0x89: return push_boolean(false);
      case 'K': return push_integer(take<uint8_t>());
      case 'M': return push_integer(take<uint16_t>());
      case 'J': return push_integer(take<int32_t>());
      case 0x8a: return push_long(take<uint8_t>());
      case 'G': return push_real();
      case 'U':  // text of Python 2
      case 'C':  // bytes, which are text here
      case 0x8c: return push_text(take<uint8_t>());
      case 'T':
      case 'B':
      case 'X': return push_text(take<uint32_t>());
      case 0x8e:
      case 0x8d: return push_text(take<uint64_t>());
      case ')': return push_tuple({});
      case 0x85: return push_tuple(pop_last(1));
      case 0x86: return push_tuple(pop_last(2));
      case 0x87: return push_tuple(pop_last(3));
      case 't': return push_tuple(pop_group());
      case ']': push_new(Kind::list); return;
      case 'a': return extend(Kind::list, pop_last(1));
      case 'e': return extend(Kind::list, pop_group());
      case '}': push_new(Kind::dict); return;
      case 's': return extend(Kind::dict, pop_last(2));
      case 'u': return extend(Kind::dict, pop_group());
      case 'q': return remember(take<uint8_t>());
      case 'r': return remember(take<uint32_t>());
      case 0x94: return remember(memo_.size());
      case 'h': return recall(take<uint8_t>());
      case 'j': return recall(take<uint32_t>());
      case 'c': {
        const std::string module = line();
        return push_global(module, line());
      }
      case 0x93: return global_from_stack();
      case 'R': return call();
      case 'b': return set_state();
      case 'Q': return storage();
      default: fail(rules_.refused, "{}: pickle opcode 0x{:02x} at byte {} is refused", where_, opcode, at_ - 1);
    }
  }
  // clang-format on
  void push_text(uint64_t count) { push_new(Kind::text).text = text(count); }

  PickleDocument& document_;
  std::span<const std::byte> bytes_;
  size_t at_;
  const PickleRules& rules_;
  const std::string& where_;
  bool done_ = false;
  size_t copies_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, uint32_t> memo_;
};

PickleDocument::PickleDocument(std::span<const std::byte> bytes, size_t begin, const PickleRules& rules,
                               const std::string& where) {
  PickleReader(*this, bytes, begin, rules, where).run();
}

}  // namespace mdsm::io
