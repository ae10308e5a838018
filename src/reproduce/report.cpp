#include "reproduce/report.h"

#include <cmath>

#include "core/base64.h"
#include "core/error.h"
#include "core/markup.h"
#include "core/progress.h"

namespace mdsm::reproduce {
namespace {

constexpr const char* kStyle = R"(
body{font:16px/1.5 system-ui,sans-serif;color:#1c1c1c;background:#fff;max-width:60rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid #ddd;padding-top:1rem}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0}
th,td{text-align:left;vertical-align:top;padding:.25rem .9rem .25rem 0;border-bottom:1px solid #eee}
td.number{white-space:nowrap}figure{margin:1rem 0}figcaption,.quiet{color:#555;font-size:.9rem}
img{max-width:100%;height:auto}img.pixels{image-rendering:pixelated}
pre{background:#f5f5f5;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
@media(max-width:30rem){table{font-size:.85rem}th,td{padding-right:.5rem}td.number{white-space:normal}}
.bad{color:#a11}summary{cursor:pointer}a{color:#1f5fa8}
)";

std::string figure(const RecipeFigure& figure, const Recipe& recipe, const ReproduceOptions& options) {
  const fs::path file = options.out / recipe.name / Variables(options, recipe).expand(figure.file);
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    return fmt::format("<p class=\"bad\">figure {} is missing</p>\n", escape_markup(figure.file));
  const bool svg = file.extension() == ".svg";
  return fmt::format(
      "<figure><img{} alt=\"{}\" src=\"data:image/{};base64,{}\"><figcaption>{}</figcaption></figure>\n",
      svg ? "" : " class=\"pixels\"", escape_markup(figure.caption), svg ? "svg+xml" : "png",
      base64(read_bytes(file)), escape_markup(figure.caption));
}

// The table at the top has only what the paper has too.
std::string summary_rows(const Outcome& outcome, const ReproduceOptions& options) {
  std::string rows;
  for (const RecipeResult& result : outcome.recipe->results)
    if (!result.paper.empty())
      rows += fmt::format("<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td>{2}</td><td>{3}</td></tr>\n",
                          outcome.recipe->name, escape_markup(result.label),
                          escape_markup(result_text(result, *outcome.recipe, options)),
                          escape_markup(result.paper));
  return rows;
}

std::string result_rows(const Outcome& outcome, const ReproduceOptions& options) {
  std::string rows;
  for (const RecipeResult& result : outcome.recipe->results)
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td><td class=\"quiet\">{}</td></tr>\n",
        escape_markup(result.label), escape_markup(result_text(result, *outcome.recipe, options)),
        result.paper.empty() ? "–" : escape_markup(result.paper), escape_markup(result.note));
  return rows;
}

// before, after: cells of the heading around that of our figures.
std::string table(const std::string& rows, Scale scale, const char* before, const char* after) {
  if (rows.empty()) return "";
  return fmt::format("<div class=\"wide\"><table><tr>{}<th>ours, {} scale</th>{}</tr>\n{}</table></div>\n",
                     before, to_string(scale), after, rows);
}

std::string section(const Outcome& outcome, const ReproduceOptions& options) {
  const Recipe& recipe = *outcome.recipe;
  std::string html = fmt::format("<h2 id=\"{}\">{}</h2>\n<p>{}</p>\n", recipe.name,
                                 escape_markup(recipe.title), escape_markup(recipe.about));
  if (!outcome.done) {
    html += fmt::format("<p class=\"bad\">Not run to the end: {}</p>\n", escape_markup(outcome.why_not));
  } else {
    html +=
        table(result_rows(outcome, options), options.scale, "<th>measure</th>", "<th>paper</th><th></th>");
    for (const RecipeFigure& one : recipe.figures) html += figure(one, recipe, options);
  }
  if (outcome.steps.empty()) return html;
  double seconds = 0;
  std::string commands;
  for (const StepOutcome& step : outcome.steps) {
    seconds += step.seconds;
    commands += fmt::format("# {}, {}\n{}\n", step.name, duration_text(step.seconds), step.command);
  }
  return html + fmt::format("<details><summary>{} command{}, {}</summary><pre>{}</pre></details>\n",
                            outcome.steps.size(), outcome.steps.size() == 1 ? "" : "s",
                            duration_text(seconds), escape_markup(commands));
}

}  // namespace

std::string result_text(const RecipeResult& result, const Recipe& recipe, const ReproduceOptions& options) {
  const auto value = result_number(recipe, options, result.value);
  if (!value) return "–";
  double shown = *value, error = NAN;
  if (!result.error.empty()) error = result_number(recipe, options, result.error).value_or(NAN);
  if (!result.over.empty()) {
    const auto over = result_number(recipe, options, result.over);
    if (!over) return "–";
    shown /= *over;
    error /= *over;
  }
  const std::string text = fmt::format("{:.{}f}", shown, result.digits);
  return std::isfinite(error) ? fmt::format("{} ± {:.{}f}", text, error, result.digits) : text;
}

std::string html_report(const std::vector<Outcome>& outcomes, const ReproduceOptions& options,
                        const ReportAbout& about) {
  std::string rows, sections, missing;
  double seconds = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.done) rows += summary_rows(outcome, options);
    if (!outcome.done)
      missing += fmt::format("<li><a href=\"#{0}\">{0}</a>: {1}</li>\n", outcome.recipe->name,
                             escape_markup(outcome.why_not));
    sections += section(outcome, options);
    for (const StepOutcome& step : outcome.steps) seconds += step.seconds;
  }
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>mdsm reproduction, {0} scale</title><style>{1}</style></head><body>\n"
      "<h1>Multiscale denoising score matching: the paper's experiments, {0} scale</h1>\n",
      to_string(options.scale), kStyle);
  if (options.scale != Scale::paper)
    html +=
        "<p>Networks, trainings and sample counts are far smaller here than in the paper; its figures stand "
        "beside ours for orientation, not as a claim of equality.</p>\n";
  html += fmt::format("<p class=\"quiet\">{}; {}; {}; steps took {}.</p>\n<pre>{}</pre>\n",
                      escape_markup(about.program), escape_markup(about.machine), escape_markup(about.date),
                      duration_text(seconds), escape_markup(about.command));
  if (!missing.empty())
    html += "<p class=\"bad\">Not run to the end:</p>\n<ul class=\"bad\">\n" + missing + "</ul>\n";
  return html + table(rows, options.scale, "<th>experiment</th><th>measure</th>", "<th>paper</th>") +
         sections + "</body></html>\n";
}

}  // namespace mdsm::reproduce
