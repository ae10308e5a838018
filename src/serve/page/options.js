// Inputs for the options of a kind of job, as the program declares them: names, ranges, choices and help come from
// /api/kinds, the defaults of a sampler from the model.
import {field, make, select, slider} from "./dom.js";

function one(option, use, initial) {
  const name = option.name, value = initial ?? use.default;
  if (option.type === "switch") {
    const input = make("input", {type: "checkbox", checked: String(value) === "true"});
    return {name, initial: String(value), read: () => String(input.checked), node: make("label", {title: use.help}, input, ` ${name}`)};
  }
  if (option.choices.length) {
    const input = select(option.choices, String(value), {title: use.help});
    return {name, initial: String(value), read: () => input.value, node: field(name, input)};
  }
  if (option.type === "integer" || option.type === "number") {
    const number = Number(value), whole = option.type === "integer";
    const low = Math.max(option.low ?? 0, Math.min(0, number)), high = Math.min(option.high ?? Infinity, Math.max(number * 4, whole ? 10 : 1, number));
    const made = slider(name, {low, high, step: whole ? 1 : Number(((high - low) / 200).toPrecision(1)) || "any", value: number});
    made.node.title = use.help;
    return {name, initial: String(number), read: () => String(Number(made.number.value)), node: made.node};
  }
  const input = make("input", {type: "text", value: String(value ?? ""), title: use.help});
  return {name, initial: String(value ?? ""), read: () => input.value, node: field(name, input)};
}

// options: of the kind. owner: the sampler whose options they are to be; null: those of nobody. defaults: by name.
// skip: names that the page asks for elsewhere.
export function optionInputs(options, {owner = null, defaults = {}, skip = [], only = null} = {}) {
  const inputs = [];
  for (const option of options) {
    if (skip.includes(option.name) || (only && !only.includes(option.name))) continue;
    const use = option.uses.find(use => use.of === (owner ?? "")) ?? (owner === null ? option.uses.find(use => use.of === "") : null);
    if (use) inputs.push(one(option, use, defaults[option.name]));
  }
  return {
    node: make("div", {}, ...inputs.map(input => input.node)),
    // Only what differs from the defaults.
    values: () => Object.fromEntries(inputs.filter(input => input.read() !== input.initial).map(input => [input.name, input.read()])),
  };
}
