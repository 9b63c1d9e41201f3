"use strict";
// The page: what is chosen, and the curves, thumbnails, tables and crops that follow it.

const data = JSON.parse(document.getElementById("data").textContent);
const app = document.getElementById("app");
const last = data.labels.length - 1;
const state = { moment: 0, left: 0, right: 1, slider: true, map: "", metric: data.worstBy };
if (data.worst.length) {
  state.moment = Math.max(0, data.moments.findIndex((one) => one.row === data.worst[0][0]));
  state.right = data.worst[0][1] + 1;
}
const place = new Map(data.rows.map((row, at) => [row, at]));  // of a row in the curves
const nameOf = (moment) => data.names[place.get(moment.row)];
const scoreOf = (variant, metric, row) => data.scores[variant][metric][place.get(row)];
const figure = (value, unit) =>
  value === null || value === undefined ? "∞" : value.toFixed(Math.abs(value) < 10 ? 3 : 2) + (unit ? ` ${unit}` : "");

function button(text, title, press) {
  const found = make("button", "", text);
  found.type = "button";
  found.title = title;
  found.addEventListener("click", press);
  return found;
}

// A row of buttons of which one is pressed.
function choice(label, options, chosen, choose) {
  const group = make("div", "choice");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  for (const [value, text, title] of options) {
    const one = button(text, title || text, () => choose(value));
    one.dataset.value = value;
    group.append(one);
  }
  group.set = (value) => {
    for (const one of group.children)
      one.setAttribute("aria-pressed", String(one.dataset.value === String(value)));
  };
  group.set(chosen);
  return group;
}

function chooser(label, side) {
  const box = make("label", "chooser", label), list = make("select");
  data.labels.forEach((name, at) => {
    const option = make("option", "", name);
    option.value = at;
    list.append(option);
  });
  list.addEventListener("change", () => update({ [side]: Number(list.value) }));
  box.append(list);
  box.list = list;
  return box;
}

// ---- the viewer

const viewer = make("section", "viewer");
const tools = make("div", "tools"), stage = make("div", "stage");
const left = chooser("Left", "left"), right = chooser("Right", "right");
const modes = choice("Pictures", [["true", "Slider"], ["false", "Side by side"]], "true",
                     (value) => update({ slider: value === "true" }));
const maps = choice("Heat map", [["", "No map"], ...data.scales.map((one) => [one.name, one.title])],
                    "", (value) => update({ map: value }));
const zooms = make("div", "choice"), percent = make("output", "percent");
zooms.append(
  button("−", "Zoom out (−)", () => view.zoomTo(view.zoom / 1.4)), percent,
  button("+", "Zoom in (+)", () => view.zoomTo(view.zoom * 1.4)),
  button("Fit", "All of the picture (0)", () => view.zoomTo(1)),
  button("100 %", "A pixel of the reference for each of the screen", () => { view.scale = 1; }),
);
const pixels = make("label", "check", ""), sharp = make("input");
sharp.type = "checkbox";
pixels.append(sharp, " Pixels");
pixels.title = "Show pixels as squares instead of smoothly";
sharp.addEventListener("change", () => stage.classList.toggle("pixels", sharp.checked));
const legend = make("div", "legend"), ramp = make("div", "ramp"), ticks = make("div", "ticks");
const opacity = make("input");
Object.assign(opacity, { type: "range", min: 10, max: 100, value: 75, title: "Opacity of the map" });
opacity.setAttribute("aria-label", "Opacity of the heat map");
opacity.addEventListener("input", () => stage.style.setProperty("--map", opacity.value / 100));
stage.style.setProperty("--map", 0.75);
ramp.style.background = `linear-gradient(90deg, ${data.palette.filter((_, at) => at % 15 === 0).join()})`;
const scale = make("div", "scale");
scale.append(ramp, ticks);
legend.append(make("span", "", ""), scale, opacity);

stage.tabIndex = 0;
stage.setAttribute("aria-label", "Pictures: drag to move, + and − to zoom, arrows move the divider");
const view = new View(stage, () => {
  const shown = 100 * view.scale;
  percent.textContent = `${shown < 10 ? shown.toFixed(1) : Math.round(shown)} %`;
});
tools.append(left, right, modes, zooms, pixels);
if (data.scales.length) tools.append(maps);
const strip = make("div", "strip"), now = make("div", "now");
strip.setAttribute("role", "group");
strip.setAttribute("aria-label", "Frames");
data.moments.forEach((moment, at) => {
  const one = button("", nameOf(moment), () => update({ moment: at }));
  const picture = make("img");
  picture.src = moment.thumbnail;
  picture.alt = "";
  picture.draggable = false;
  one.append(picture, make("span", "", nameOf(moment)));
  if (data.worst.some(([row]) => row === moment.row) && data.moments.length > 1)
    one.append(make("em", "", "worst"));
  strip.append(one);
});
viewer.append(tools, stage, legend);
if (data.moments.length > 1) viewer.append(strip);
viewer.append(now);
app.append(viewer);

// ---- curves

let chart = null;
const equal = make("p", "note", "All pictures equal the reference: this score is infinite.");
const curves = make("section", "curves"), drawn = make("div", "chart"), worst = make("div", "worst");
const tabs = choice("Score", data.metrics.map((one) => [one.name, one.title]), state.metric,
                    (value) => { update({ metric: value }); draw(); });
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function select(row) {  // the frame with pictures that is next to a row
  let best = 0;
  data.moments.forEach((moment, at) => {
    if (Math.abs(moment.row - row) < Math.abs(data.moments[best].row - row)) best = at;
  });
  update({ moment: best });
}

function marks(plot) {
  const context = plot.ctx, box = plot.bbox;
  context.save();
  data.moments.forEach((moment, at) => {
    const x = Math.round(plot.valToPos(data.numbers[place.get(moment.row)], "x", true));
    const chosen = at === state.moment;
    context.strokeStyle = context.fillStyle = colour(chosen ? "--accent" : "--faint");
    context.lineWidth = (chosen ? 2 : 1) * devicePixelRatio;
    context.setLineDash(chosen ? [] : [2 * devicePixelRatio, 4 * devicePixelRatio]);
    context.beginPath();
    context.moveTo(x, box.top);
    context.lineTo(x, box.top + box.height);
    context.stroke();
    context.beginPath();
    context.arc(x, box.top + box.height, (chosen ? 5 : 3) * devicePixelRatio, 0, 7);
    context.fill();
  });
  context.restore();
}

function draw() {
  if (chart) chart.destroy();
  const metric = data.metrics.find((one) => one.name === state.metric);
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 },
                 ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  equal.hidden = data.scores.some((one) => one[state.metric].some((value) => value !== null));
  const lines = data.scores.map((_, at) => ({
    label: data.labels[at + 1], stroke: colour(`--v${at % 6 + 1}`), width: 1.75,
    points: { show: data.rows.length < 60 }, 
    value: (_, value, __, at) => (at === null || at === undefined ? "–" : figure(value, metric.unit)),
  }));
  const count = data.rows.length;
  chart = new uPlot({
    width: drawn.clientWidth || 600, height: 260, scales: { x: { time: false } },
    legend: { live: true }, hooks: { draw: [marks] }, focus: { alpha: 0.4 },
    cursor: { drag: { x: true, y: false }, focus: { prox: 24 } },
    axes: [{ ...axis, space: 70, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5] },
           { ...axis, size: 56, label: metric.title + (metric.unit ? ` (${metric.unit})` : ""),
             labelSize: 20, labelFont: axis.font }],
    series: [{ label: "Frame", value: (_, value, __, at) =>
      at === null || at === undefined ? "–" : data.names[at] }, ...lines],
  }, [data.numbers, ...data.scores.map((one) => one[state.metric])], drawn);
  let pressed = null;
  chart.over.addEventListener("pointerdown", (event) => { pressed = event.clientX; });
  chart.over.addEventListener("click", (event) => {
    if (pressed !== null && Math.abs(event.clientX - pressed) > 4) return;  // a part was chosen
    const at = chart.posToIdx(event.clientX - chart.over.getBoundingClientRect().left);
    select(data.rows[between(0, at, count - 1)]);
  });
}

if (data.rows.length > 1) {
  const title = make("div", "tools");
  title.append(make("h2", "", "Curves"), ...(data.metrics.length > 1 ? [tabs] : []));
  curves.append(title, drawn, equal);
  const first = data.metrics.find((one) => one.name === data.worstBy);
  const unseen = first.name === "lo" ? "MAD is 0 in all frames: by it no difference is visible. " : "";
  worst.append(make("span", "", unseen + (data.worst.length ? "Worst" : first.name === "lo"
    ? "LO is 0, too." : "All frames equal the reference.")));
  for (const [row, variant] of data.worst) {
    const text = `${data.names[place.get(row)]}`;
    const one = button("", `Show ${text}`, () => {
      const at = data.moments.findIndex((moment) => moment.row === row);
      update({ right: variant + 1, left: 0, ...(at < 0 ? {} : { moment: at }) });
      if (at < 0) select(row);
      viewer.scrollIntoView({ block: "start" });
    });
    one.append(make("b", hue(variant + 1), data.labels[variant + 1]), ` ${text} · ${first.title} `,
               figure(scoreOf(variant, first.name, row), first.unit));
    worst.append(one);
  }
  curves.append(worst);
  const every = data.every > 1 ? ` A point is the worst of ${data.every} rows.` : "";
  curves.append(make("p", "note", "A click shows the nearest frame that the report has pictures of "
    + "(dotted); drag to enlarge a part, double-click for all." + every));
  app.append(curves);
  new ResizeObserver(() => {
    if (chart) chart.setSize({ width: drawn.clientWidth, height: 260 });
  }).observe(drawn);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

// ---- crops

const crops = make("section", "crops"), row = make("div", "row");
crops.append(make("h2", "", "Worst place"), row,
             make("p", "note", "Pixels as they are, without loss. A click shows the place in the pictures."));
if (data.moments.some((one) => one.crops.length)) app.append(crops);

function showCrops(moment) {
  crops.hidden = !moment.crops.length;
  row.replaceChildren(...moment.crops.map((source, at) => {
    const one = make("figure"), picture = make("img"), [x, y, wide, high] = moment.box;
    picture.src = source;
    picture.alt = "";
    const show = button("", `Show this place of ${data.labels[at]}`, () => {
      view.zoom = Math.max(1, Math.min(0.5 / wide, 0.5 / high));
      view.x = x + wide / 2;
      view.y = y + high / 2;
      update(at ? { right: at } : {});
      viewer.scrollIntoView({ block: "start" });
    });
    show.append(picture);
    one.append(show, make("figcaption", hue(at), data.labels[at]));
    return one;
  }));
}

// ---- what is chosen

function update(changes) {
  Object.assign(state, changes);
  const moment = data.moments[state.moment], scale = data.scales.find((one) => one.name === state.map);
  const all = data.labels.map((_, at) => at);
  view.show(moment, state.slider ? [state.left, state.right] : all, state.slider, data.labels, state.map);
  left.list.value = state.left;
  right.list.value = state.right;
  left.hidden = right.hidden = !state.slider;
  modes.set(state.slider);
  maps.set(state.map);
  tabs.set(state.metric);
  [...strip.children].forEach((one, at) => {
    one.setAttribute("aria-pressed", String(at === state.moment));
    if (at === state.moment && "moment" in changes) {
      const box = strip.getBoundingClientRect(), own = one.getBoundingClientRect();
      strip.scrollLeft += own.left + own.width / 2 - box.left - box.width / 2;
    }
  });
  legend.hidden = !scale;
  if (scale) {
    legend.firstChild.textContent = `${scale.title} map`;
    const steps = [0, ...[1, 10, 100, 1e3, 1e4].filter((one) => one < scale.brightest), scale.brightest];
    ticks.replaceChildren(...steps.map((value) => {
      const tick = make("span", "", value >= 1e4 ? `${value / 1e3}k` : String(value));
      tick.style.left = `${(100 * Math.log1p(value)) / Math.log1p(scale.brightest)}%`;
      return tick;
    }));
  }
  const table = make("table"), head = make("tr");
  head.append(make("th", "", data.rows.length > 1 ? nameOf(moment) : "This picture"),
              ...data.metrics.map((one) => make("th", "", one.title)));
  table.append(head, ...all.slice(1).map((variant) => {
    const line = make("tr");
    line.append(make("th", hue(variant), data.labels[variant]), ...data.metrics.map((one) =>
      make("td", "", figure(scoreOf(variant - 1, one.name, moment.row), one.unit))));
    return line;
  }));
  now.replaceChildren(table);
  showCrops(moment);
  if (chart) chart.redraw(false);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const step = (by) => update({ moment: (state.moment + by + data.moments.length) % data.moments.length });
  const names = ["", ...data.scales.map((one) => one.name)];
  const keys = {
    n: () => step(1), p: () => step(-1), s: () => update({ slider: !state.slider }),
    h: () => update({ map: names[(names.indexOf(state.map) + 1) % names.length] }),
    "+": () => view.zoomTo(view.zoom * 1.4), "=": () => view.zoomTo(view.zoom * 1.4),
    "-": () => view.zoomTo(view.zoom / 1.4), 0: () => view.zoomTo(1),
  };
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const arrow = event.target.closest(".stage") && arrows[event.key];
  const digit = Number(event.key);
  if (arrow && state.slider && arrow[0] && (view.zoom === 1 || event.target.closest(".divider")))
    view.slide(view.divider + 0.02 * arrow[0]);
  else if (arrow && view.zoom > 1) view.pan(-40 * arrow[0], -40 * arrow[1]);
  else if (digit >= 1 && digit <= last) update({ right: digit });
  else if (keys[event.key.toLowerCase()]) keys[event.key.toLowerCase()]();
  else return;
  event.preventDefault();
});

update({ moment: state.moment });
if (data.rows.length > 1) draw();
