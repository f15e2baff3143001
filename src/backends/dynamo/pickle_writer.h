// The few pickle opcodes that example inputs need. Written only: no pickle is ever read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::dynamo {

/// A pickle of protocol 2 as a sequence of stack operations. Nothing is memoized, so every object
/// is written where it stands.
class PickleWriter {
 public:
  PickleWriter();

  void none() { text_ += 'N'; }
  void boolean(bool value) { text_ += value ? '\x88' : '\x89'; }
  void integer(int64_t value);
  void number(double value);
  /// `value` is UTF-8.
  void text(std::string_view value);
  /// A class or function by its importable name.
  void global(std::string_view module, std::string_view name);

  void mark() { text_ += '('; }
  /// What is above the mark becomes a tuple.
  void tuple() { text_ += 't'; }
  void empty_tuple() { text_ += ')'; }
  void empty_list() { text_ += ']'; }
  /// What is above the mark joins the list below it.
  void append_all() { text_ += 'e'; }
  void empty_dict() { text_ += '}'; }
  /// The keys and values above the mark join the dict below it.
  void set_all() { text_ += 'u'; }
  /// Calls the function below a tuple with it.
  void call() { text_ += 'R'; }
  /// An object of the class below a tuple, made by its __new__.
  void new_object() { text_ += '\x81'; }
  /// The dict on top becomes the attributes of the object below it.
  void build() { text_ += 'b'; }
  /// The tuple on top names an object outside of the pickle.
  void persistent() { text_ += 'Q'; }

  /// Ends the pickle.
  std::string take();

 private:
  std::string text_;
};

}  // namespace slipway::dynamo
