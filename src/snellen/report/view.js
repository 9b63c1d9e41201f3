"use strict";
// The pictures: panes that show the same place of the same frame at the same size.

const make = (name, className, text) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};
const hue = (at) => `v${at ? ((at - 1) % 6) + 1 : 0}`;  // a class of page.css: 0 is the reference
const between = (low, value, high) => Math.min(high, Math.max(low, value));

// Place and zoom are shares of the picture, so that they hold for panes of any size.
class View {
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    this.zoom = 1;
    this.x = this.y = 0.5;
    this.divider = 0.5;
    this.panes = [];
    this.fingers = new Map();
    box.addEventListener("pointerdown", (event) => this.down(event));
    box.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"])
      box.addEventListener(name, (event) => this.up(event));
    box.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    box.addEventListener("dblclick", (event) => this.double(event));
    new ResizeObserver(() => this.place()).observe(box);
  }

  // Show a frame: `sides` are the places of its pictures (0: the reference) in the panes.
  show(moment, sides, asSlider, labels, map) {
    this.moment = moment;
    this.asSlider = asSlider;
    this.box.classList.toggle("grid", !asSlider);
    while (this.panes.length > sides.length) this.panes.pop().root.remove();
    while (this.panes.length < sides.length) this.panes.push(this.pane());
    sides.forEach((side, at) => {
      const pane = this.panes[at];
      const shade = side > 0 && map ? moment.maps[side - 1][map] : undefined;
      if (pane.picture.src !== moment.pictures[side]) pane.picture.src = moment.pictures[side];
      pane.picture.alt = labels[side];
      pane.map.hidden = shade === undefined;
      if (shade !== undefined) pane.map.src = shade;
      pane.root.className = "pane" + (asSlider ? (at ? " right" : " left") : "");
      pane.label.textContent = labels[side];
      pane.label.className = "label " + hue(side);
    });
    if (!this.handle) this.addHandle();
    this.handle.hidden = !asSlider;
    this.place();
  }

  pane() {
    const root = make("div", "pane"), layer = make("div", "layer");
    const picture = make("img"), map = make("img", "map"), label = make("span", "label");
    picture.draggable = map.draggable = false;
    map.alt = "";
    layer.append(picture, map);
    root.append(layer, label);
    this.box.append(root);
    return { root, layer, picture, map, label };
  }

  addHandle() {
    this.handle = make("div", "divider");
    this.handle.tabIndex = 0;
    const words = { role: "slider", "aria-label": "Divider", "aria-orientation": "horizontal",
                    "aria-valuemin": "0", "aria-valuemax": "100" };
    for (const name in words) this.handle.setAttribute(name, words[name]);
    this.handle.append(make("span", "knob", "⇔"));
    this.box.append(this.handle);
  }

  // Panes and pictures get their places: the picture lies whole in its pane at zoom 1.
  place() {
    if (!this.moment) return;
    const wide = this.box.clientWidth, high = Math.max(240, window.innerHeight * 0.72);
    const count = this.asSlider ? 1 : this.panes.length, gap = this.asSlider ? 0 : 8;
    const aspect = this.moment.aspect;
    let best = 1, size = 0;
    for (let columns = 1; columns <= count; columns++) {  // the most columns of the largest panes
      const width = (wide - gap * (columns - 1)) / columns;
      const rows = Math.ceil(count / columns);
      const shown = Math.min(width, ((high * (rows > 1 ? 1.2 : 1)) / rows) * aspect);
      if (shown > size + 1) [best, size] = [columns, shown];
    }
    const width = (wide - gap * (best - 1)) / best;
    const height = Math.min(width / aspect, this.asSlider ? high : Infinity, size / aspect + 1);
    this.width = width;
    this.height = height;
    this.fit = Math.min(width, height * aspect);
    this.box.style.gridTemplateColumns = `repeat(${best}, 1fr)`;
    this.box.style.height = this.asSlider ? `${height}px` : "";
    this.box.style.touchAction = this.zoom > 1 ? "none" : "pan-y";
    const across = this.fit * this.zoom, down = across / aspect;
    const keep = (at, whole, part) =>
      whole <= part ? 0.5 : between(part / whole / 2, at, 1 - part / whole / 2);
    this.x = keep(this.x, across, width);
    this.y = keep(this.y, down, height);
    for (const pane of this.panes) {
      pane.root.style.height = `${height}px`;
      const layer = pane.layer.style;
      layer.width = `${across}px`;
      layer.height = `${down}px`;
      layer.transform = `translate(${width / 2 - this.x * across}px, ${height / 2 - this.y * down}px)`;
    }
    if (this.handle) {
      const at = this.divider * width, percent = Math.round(100 * this.divider);
      this.handle.style.left = `${at}px`;
      this.handle.setAttribute("aria-valuenow", percent);
      if (this.asSlider) {
        this.panes[0].root.style.clipPath = `inset(0 ${width - at}px 0 0)`;
        this.panes[1].root.style.clipPath = `inset(0 0 0 ${at}px)`;
      } else for (const pane of this.panes) pane.root.style.clipPath = "";
    }
    this.changed(this);
  }

  // Pixels of the screen for one of the picture.
  get scale() {
    return (this.fit * this.zoom * window.devicePixelRatio) / this.moment.size[0];
  }

  set scale(value) {
    this.zoomTo((value * this.moment.size[0]) / this.fit / window.devicePixelRatio);
  }

  // Zoom about a place of a pane, its middle if none is given.
  zoomTo(zoom, left = this.width / 2, top = this.height / 2) {
    const most = Math.max(4, (16 * this.moment.size[0]) / this.fit);
    const across = this.fit * this.zoom, down = across / this.moment.aspect;
    const u = this.x + (left - this.width / 2) / across;
    const v = this.y + (top - this.height / 2) / down;
    const ratio = this.zoom / (zoom = between(1, zoom, most));
    this.x = u - (u - this.x) * ratio;
    this.y = v - (v - this.y) * ratio;
    this.zoom = zoom;
    this.place();
  }

  pan(right, down) {
    const across = this.fit * this.zoom;
    this.x -= right / across;
    this.y -= (down / across) * this.moment.aspect;
    this.place();
  }

  slide(share) {
    this.divider = between(0, share, 1);
    this.place();
  }

  // A place of the screen as one of the pane that it is in.
  inside(event) {
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const root = (under && this.box.contains(under) && under.closest(".pane")) || this.box;
    const box = (this.asSlider ? this.box : root).getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event) {
    if (event.button) return;
    this.sliding = Boolean(event.target.closest(".divider"));
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    this.box.setPointerCapture(event.pointerId);
    this.from = this.inside(event);
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    if (this.sliding) {
      this.slide((event.clientX - this.box.getBoundingClientRect().left) / this.width);
    } else if (this.fingers.size === 2) {
      const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const gap = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
      this.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      this.zoomTo((this.zoom * gap(now)) / gap(before), ...this.from);
    } else if (event.pointerType !== "touch" || this.zoom > 1) {
      this.pan(now[0] - before[0], now[1] - before[1]);
    } else if (this.asSlider) {
      this.slide(this.divider + (now[0] - before[0]) / this.width);
    }
    this.fingers.set(event.pointerId, now);
  }

  up(event) {
    this.fingers.delete(event.pointerId);
    this.sliding = false;
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey && this.zoom === 1) return;  // the page scrolls
    event.preventDefault();
    this.zoomTo(this.zoom * Math.exp(-event.deltaY / 400), ...this.inside(event));
  }

  double(event) {
    if (this.zoom > 1) this.zoomTo(1);
    else this.zoomTo(Math.max(2, (this.zoom / this.scale) || 2), ...this.inside(event));
  }
}
