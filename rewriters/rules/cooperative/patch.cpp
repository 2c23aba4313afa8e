#include "rewriters/rules/cooperative/patch.h"

#include <algorithm>
#include <tuple>

namespace hone::rules::coop {

using syntax::SourceRange;

bool Patch::check(const SourceRange& range) {
  if (!range.valid()) broken_ = true;
  return range.valid();
}

void Patch::replace(const SourceRange& range, std::string text) {
  if (check(range)) edits_.push_back({Edit::Kind::kReplace, range, std::move(text)});
}

void Patch::before(const SourceRange& range, std::string text) {
  if (check(range)) edits_.push_back({Edit::Kind::kBefore, range, std::move(text)});
}

void Patch::after(const SourceRange& range, std::string text) {
  if (check(range)) edits_.push_back({Edit::Kind::kAfter, range, std::move(text)});
}

std::string Patch::text(const SourceRange& range) const {
  struct Item {
    int offset;
    int order;  // closing texts, opening texts, replacements
    int size;   // of a replacement; the outer one first
    const Edit* edit;
  };
  std::vector<Item> items;
  for (const Edit& edit : edits_) {
    if (!range.contains(edit.range)) continue;
    const int size = edit.range.end - edit.range.begin;
    switch (edit.kind) {
      case Edit::Kind::kAfter:
        items.push_back({edit.range.end, 0, 0, &edit});
        break;
      case Edit::Kind::kBefore:
        items.push_back({edit.range.begin, 1, 0, &edit});
        break;
      case Edit::Kind::kReplace:
        items.push_back({edit.range.begin, 2, -size, &edit});
        break;
    }
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::tie(a.offset, a.order, a.size) < std::tie(b.offset, b.order, b.size);
  });
  std::string result;
  int position = range.begin;
  SourceRange replaced;
  for (const Item& item : items) {
    const SourceRange& own = item.edit->range;
    const bool inside_replaced = replaced.contains(own) && !(replaced == own);
    if (inside_replaced || item.offset < position) continue;
    result += unit_->text({position, item.offset});
    position = item.offset;
    result += item.edit->text;
    if (item.order == 2) {
      position = own.end;
      replaced = own;
    }
  }
  result += unit_->text({position, range.end});
  return result;
}

Result<std::string> Patch::source() const {
  if (broken_) return refused("the code to be changed comes from a macro");
  return text({0, static_cast<int>(unit_->source.size())});
}

}  // namespace hone::rules::coop
