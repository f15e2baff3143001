// Tests of finding and rendering chat templates.
#include "generation/chat_template.h"

#include <chrono>
#include <ctime>
#include <gtest/gtest.h>
#include <string>

#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway {
namespace {

const Json kHello = {{{"role", "user"}, {"content", "Hi"}}};

std::string render(const std::string& source, const Json& messages = kHello,
                   const ChatOptions& options = {}) {
  return ChatTemplate::from_source(source, {{"bos_token", "<s>"}, {"eos_token", "</s>"}})
      .apply(messages, options);
}

TEST(ChatTemplate, RendersAConversation) {
  const std::string source =
      "{{ bos_token }}{% for m in messages %}\n"
      "    {% if m.role == 'user' %}\n"
      "[{{ m['content'] | trim }}]\n"
      "    {% else %}\n"
      "{{ m.content + eos_token }}\n"
      "    {% endif %}\n"
      "{% endfor %}\n"
      "{%- if add_generation_prompt %}A:{% endif %}\n";
  const Json messages = {{{"role", "user"}, {"content", " a<b "}},
                         {{"role", "assistant"}, {"content", "yes"}}};
  EXPECT_EQ(render(source, messages), "<s>[a<b]\nyes</s>\n");
  ChatOptions options;
  options.add_generation_prompt = true;
  EXPECT_EQ(render(source, messages, options), "<s>[a<b]\nyes</s>\nA:");
}

TEST(ChatTemplate, VariablesToolsAndDocuments) {
  EXPECT_EQ(render("{{ tools is none }} {{ documents is none }} {{ thing is defined }}"),
            "True True False");
  ChatOptions options;
  options.tools = {{{"name", "f"}, {"args", {{"items", {1, 2.0, "\xC3\xA9'<"}}}}}};
  options.documents = {{{"title", "t"}}};
  options.variables = {{"thing", false}, {"bos_token", "<other>"}};
  EXPECT_EQ(render("{{ bos_token }}{{ thing }}{{ documents[0].title }}", kHello, options),
            "<other>Falset");
  EXPECT_EQ(render("{{ tools[0] | tojson }}", kHello, options),
            "{\"name\": \"f\", \"args\": {\"items\": [1, 2.0, \"\xC3\xA9'<\"]}}");
  EXPECT_EQ(render("{{ tools[0].args | tojson(indent=2, ensure_ascii=true) }}", kHello, options),
            "{\n  \"items\": [\n    1,\n    2.0,\n    \"\\u00e9'<\"\n  ]\n}");
  EXPECT_EQ(render("{{ tools[0].args | tojson(separators=(',', ':')) }}", kHello, options),
            "{\"items\":[1,2.0,\"\xC3\xA9'<\"]}");
  EXPECT_EQ(render("{{ {'b': none, 'a': true} | tojson(sort_keys=true) }}"),
            "{\"a\": true, \"b\": null}");
  EXPECT_EQ(render("{% for k, v in tools[0].args.items() %}{{ k }}{% endfor %}", kHello, options),
            "items");
}

TEST(ChatTemplate, MessagesAreReadAsTheReferenceReadsThem) {
  const Json messages = {{{"role", "assistant"}, {"content", nullptr}, {"reasoning", "r"}}};
  EXPECT_EQ(render("{{ messages[0].content is defined }} {{ messages[0].reasoning_content }} "
                   "{{ messages[0].thinking }}",
                   messages),
            "False r r");
}

TEST(ChatTemplate, PythonMethodsAndGenerationBlocks) {
  EXPECT_EQ(render("{{ 'a</t> b'.split('</t>')[-1].lstrip() }}{{ 'xy'.removeprefix('x') }}"
                   "{{ ' q '.strip() }}{{ 'a-b'.partition('-')[2] }}{{ messages[::-1] | length }}"),
            "byqb1");
  EXPECT_EQ(render("a {%- generation -%} b {%- endgeneration %} c{% generation %}d"
                   "{% endgeneration %}"),
            "ab cd");
  EXPECT_EQ(render("{{ 'abc' is sequence }}{{ {} is sequence }}{{ 1 is iterable }}{{ 1e20 }}"),
            "TrueTrueFalse1e+20");
}

TEST(ChatTemplate, KnowsTheDate) {
  // The day may change between the two readings: the reading before or after must agree.
  auto year_day = [] {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    char text[32];
    return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts));
  };
  const std::string before = year_day(), got = render("{{ strftime_now('%Y-%m-%d') }}");
  EXPECT_TRUE(got == before || got == year_day()) << got;
}

TEST(ChatTemplate, TheTemplatesRefusalIsTheError) {
  const std::string error =
      error_of(kInvalid, [] { render("{{ raise_exception('roles must alternate') }}"); });
  EXPECT_TRUE(contains(error, "roles must alternate"));
  EXPECT_TRUE(contains(error_of(kInvalid, [] { render("{% if %}"); }), "not valid"));
  EXPECT_TRUE(contains(error_of(kInvalid, [] { render("{{ nothing.at.all }}"); }), "undefined"));
}

TEST(ChatTemplate, HostileTemplatesEndWithAnError) {
  const auto start = std::chrono::steady_clock::now();
  const std::string loop =
      "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}"
      "{% endfor %}";
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { render(loop); }), "fuel"));
  EXPECT_TRUE(contains(error_of(kInvalid, [] { render("{{ 'a' * 10000000000 }}"); }), "fuel"));
  EXPECT_TRUE(contains(
      error_of(kInvalid, [] { render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"); }),
      "recursion"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [] { render("{{ " + std::string(100000, '(')); }), "recursion"));
  // Generous: it takes a second on a slow machine.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(ChatTemplate, RefusesConversationsThatAreNone) {
  EXPECT_TRUE(contains(error_of(kInvalid, [] { render("x", Json::array()); }), "empty"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [] { render("x", "hello"); }), "need a list of messages"));
  EXPECT_TRUE(contains(error_of(kInvalid, [] { render("x", {1}); }), "a message is the number 1"));
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [] {
                                  render("x", {{{"role", "user"}, {"content", "\xFF"}}});
                                }),
                       "UTF-8"));
  ChatOptions options;
  options.tools = "f";
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { render("x", kHello, options); }), "`tools`"));
}

TEST(ChatTemplate, FindsTheFilesInOrder) {
  TestFolder directory;
  EXPECT_FALSE(ChatTemplate::find(directory.path()));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { ChatTemplate::from_directory(directory.path()); }),
                       "no chat template"));
  auto rendered = [&] { return ChatTemplate::from_directory(directory.path()).apply(kHello); };
  directory.write("tokenizer_config.json",
                  R"({"bos_token": "<s>", "chat_template": "config{{ bos_token }}"})");
  EXPECT_EQ(rendered(), "config<s>");
  directory.write("chat_template.json", R"({"chat_template": "json{{ bos_token }}"})");
  EXPECT_EQ(rendered(), "json<s>");
  directory.write("chat_template.jinja", "jinja{{ bos_token }}\n");
  EXPECT_EQ(rendered(), "jinja<s>");
  directory.write("additional_chat_templates/rag.jinja", "rag");
  ChatOptions options;
  options.name = "rag";
  EXPECT_EQ(ChatTemplate::from_directory(directory.path()).apply(kHello, options), "rag");
}

TEST(ChatTemplate, ChoosesAmongNamedTemplates) {
  TestFolder directory;
  directory.write("tokenizer_config.json", R"({"chat_template": [
    {"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]})");
  const ChatTemplate chat = ChatTemplate::from_directory(directory.path());
  EXPECT_EQ(chat.apply(kHello), "plain");
  ChatOptions options;
  options.tools = Json::array();
  EXPECT_EQ(chat.apply(kHello, options), "tools");
  options.name = "other";
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { chat.apply(kHello, options); }),
                       "there are: default, tool_use"));

  for (const char* bad : {R"({"chat_template": 3})", R"({"chat_template": [{"name": "x"}]})",
                          R"({"chat_template": [7]})"}) {
    directory.write("tokenizer_config.json", bad);
    EXPECT_TRUE(contains(error_of(kInvalid, [&] { ChatTemplate::find(directory.path()); }),
                         "tokenizer_config.json"))
        << bad;
  }
}

}  // namespace
}  // namespace slipway
