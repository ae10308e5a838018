// Line charts and histograms as SVG, maps of energies on a canvas. Each has a sentence for who cannot see it.
import {make, svg} from "./dom.js";

const WIDTH = 640, HEIGHT = 300, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 36;

function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * power).find(one => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(at);
  return found;
}

const short = value => Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(+value.toPrecision(4));

function frame(xs, ys, xLabel, yLabel, sentence) {
  const finite = list => list.filter(Number.isFinite);
  const range = list => {
    const low = Math.min(...finite(list)), high = Math.max(...finite(list));
    return low < high ? [low, high] : [low - 1, high + 1];
  };
  const [x0, x1] = range(xs), [y0, y1] = range(ys);
  const x = value => LEFT + (value - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT);
  const y = value => HEIGHT - BOTTOM - (value - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM);
  const node = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": sentence});
  for (const at of ticks(x0, x1)) {
    const label = svg("text", {x: x(at), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle"});
    label.textContent = short(at);
    node.append(label);
  }
  for (const at of ticks(y0, y1)) {
    const label = svg("text", {x: LEFT - 8, y: y(at) + 4, "text-anchor": "end"});
    label.textContent = short(at);
    node.append(svg("line", {class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at)}), label);
  }
  const bottom = svg("text", {x: (LEFT + WIDTH) / 2, y: HEIGHT - 4, "text-anchor": "middle"});
  bottom.textContent = xLabel;
  const side = svg("text", {x: 0, y: 0, transform: `translate(14 ${HEIGHT / 2}) rotate(-90)`, "text-anchor": "middle"});
  side.textContent = yLabel;
  node.append(bottom, side);
  return {node, x, y};
}

// series: [{name, points: [[x, y], ...]}]
export function lines(series, xLabel, yLabel) {
  const points = series.flatMap(one => one.points).filter(([, value]) => Number.isFinite(value));
  if (!points.length) return make("p", {class: "progress"}, "Nothing to show yet.");
  const last = series.map(one => one.points.at(-1)).map((at, i) => at ? `${series[i].name} ${short(at[1])}` : "").filter(Boolean);
  const {node, x, y} = frame(points.map(p => p[0]), points.map(p => p[1]), xLabel, yLabel,
    `${yLabel} against ${xLabel}; at the end: ${last.join(", ")}`);
  const legend = make("ul", {class: "legend"});
  series.forEach((one, i) => {
    const colour = `var(--c${i % 5 + 1})`;
    const path = one.points.filter(([, value]) => Number.isFinite(value)).map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
    const line = svg("polyline", {points: path, fill: "none", "stroke-width": 2});
    line.style.stroke = colour;
    const sample = svg("svg", {viewBox: "0 0 20 10", "aria-hidden": "true"}, svg("line", {x1: 0, x2: 20, y1: 5, y2: 5, "stroke-width": 3}));
    sample.firstChild.style.stroke = colour;
    node.append(line);
    if (series.length > 1) legend.append(make("li", {}, sample, one.name));
  });
  return make("div", {}, node, series.length > 1 ? legend : null);
}

// Counts of `values`, and marks [{at, name}] over them.
export function histogram(values, marks, xLabel) {
  const all = [...values, ...marks.map(one => one.at)];
  const low = Math.min(...all), high = Math.max(...all), bins = Math.min(40, Math.max(8, Math.round(Math.sqrt(values.length) * 1.5)));
  const width = (high - low) / bins || 1, counts = new Array(bins).fill(0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value - low) / width))]++;
  const most = Math.max(...counts, 1);
  const {node, x, y} = frame([low, low + bins * width], [0, most * 1.25], xLabel, "reference images",
    `${values.length} reference scores from ${short(Math.min(...values))} to ${short(Math.max(...values))}; ${marks.map(one => `${one.name} at ${short(one.at)}`).join(", ")}`);
  counts.forEach((count, i) => {
    const bar = svg("rect", {x: x(low + i * width) + 1, width: Math.max(1, x(low + (i + 1) * width) - x(low + i * width) - 2), y: y(count), height: y(0) - y(count)});
    bar.style.fill = "var(--c1)";
    node.append(bar);
  });
  marks.forEach((one, i) => {
    const line = svg("line", {x1: x(one.at), x2: x(one.at), y1: TOP + 14 * (i % 4) + 6, y2: y(0), "stroke-width": 2});
    line.style.stroke = one.threshold ? "var(--soft)" : "var(--c2)";
    const right = x(one.at) > WIDTH * 0.7;
    const label = svg("text", {x: x(one.at) + (right ? -5 : 5), y: TOP + 14 * (i % 4) + 10, "text-anchor": right ? "end" : "start"});
    label.textContent = one.name;
    node.append(line, label);
  });
  return node;
}

// From dark blue (low) over green to yellow (high).
function colour(share) {
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const at = Math.min(0.9999, Math.max(0, share)) * 4, i = Math.floor(at), part = at - i;
  return stops[i].map((value, k) => Math.round(value + part * (stops[i + 1][k] - value)));
}

// The plane of a landscape with its pictures and the ways of its chains.
export function plane(found, names) {
  const {across, upwards, energy} = found.plane, columns = across.length, rows = upwards.length;
  const all = energy.flat(), low = Math.min(...all), high = Math.max(...all), size = 480;
  const canvas = make("canvas", {width: columns, height: rows});
  const pixels = canvas.getContext("2d"), image = pixels.createImageData(columns, rows);
  energy.forEach((row, j) => row.forEach((value, i) => {
    image.data.set([...colour((value - low) / (high - low || 1)), 255], 4 * ((rows - 1 - j) * columns + i));
  }));
  pixels.putImageData(image, 0, 0);
  const show = make("canvas", {width: size, height: size, role: "img"});
  show.setAttribute("aria-label", `Energies on a plane, from ${short(low)} (dark) to ${short(high)} (yellow), with ${found.chains.length} ways of Langevin chains`);
  const to = show.getContext("2d");
  to.drawImage(canvas, 0, 0, size, size);
  // A point of the grid is the middle of its pixel.
  const place = (value, list) => ((value - list[0]) / (list.at(-1) - list[0]) * (list.length - 1) + 0.5) / list.length * size;
  const x = value => place(value, across), y = value => size - place(value, upwards);
  to.lineWidth = 1.5;
  for (const way of found.chains) {
    to.strokeStyle = "#fff";
    to.beginPath();
    way.forEach(([a, b], i) => i ? to.lineTo(x(a), y(b)) : to.moveTo(x(a), y(b)));
    to.stroke();
  }
  to.font = "bold 16px sans-serif";
  found.places.forEach(([a, b], i) => {
    to.fillStyle = "#d11";
    to.beginPath();
    to.arc(x(a), y(b), 6, 0, 7);
    to.fill();
    to.strokeStyle = "#000";
    to.lineWidth = 3;
    to.strokeText(names[i], x(a) + 9, y(b) + 5);
    to.fillStyle = "#fff";
    to.fillText(names[i], x(a) + 9, y(b) + 5);
  });
  return make("figure", {}, show, make("figcaption", {}, `Energy from ${short(low)} (dark) to ${short(high)} (yellow); white: Langevin chains, as their shadows fall on the plane.`));
}
