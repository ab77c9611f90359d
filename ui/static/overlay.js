// The action, drawn over the frame in pixels of a frame 640 wide: what was clicked, dragged, pressed or commanded.

const INK = "#ffd23f"; // reads on light and on dark frames because every line has a dark edge
const EDGE = "rgba(0, 0, 0, 0.75)";
const WORDS = { up: "↑", down: "↓", left: "←", right: "→", space: "␣ space", enter: "⏎ enter", backspace: "⌫", tab: "⇥ tab", esc: "esc" };

function stroke(context, width, path) {
  context.lineCap = context.lineJoin = "round";
  for (const [colour, extra] of [[EDGE, 3], [INK, 0]]) {
    context.strokeStyle = colour;
    context.lineWidth = width + extra;
    context.beginPath();
    path();
    context.stroke();
  }
}

function arrow(context, x1, y1, x2, y2, size = 12) {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  stroke(context, 3, () => {
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    for (const side of [-1, 1]) {
      context.moveTo(x2, y2);
      context.lineTo(x2 - size * Math.cos(angle + side * 0.45), y2 - size * Math.sin(angle + side * 0.45));
    }
  });
}

function ring(context, x, y, radius, from = 0, to = Math.PI * 2) {
  stroke(context, 3, () => context.arc(x, y, radius, from, to));
}

function pointer(context, x, y) {
  const shape = [[0, 0], [0, 19], [5, 14.5], [8.5, 22], [12, 20.5], [8.5, 13], [15, 13]];
  context.beginPath();
  shape.forEach(([dx, dy], i) => context[i ? "lineTo" : "moveTo"](x + dx, y + dy));
  context.closePath();
  context.fillStyle = INK;
  context.fill();
  context.strokeStyle = EDGE;
  context.lineWidth = 2;
  context.stroke();
}

/** A plate with text; returns its right edge. `cap` gives it the look of a key. */
function plate(context, text, x, y, { size = 16, cap = false, align = "left", frame } = {}) {
  context.font = `600 ${size}px system-ui, sans-serif`;
  const shown = text.length > 60 ? text.slice(0, 59) + "…" : text;
  const width = Math.max(cap ? size * 2 : 0, context.measureText(shown).width + size);
  const height = size * 1.9;
  let left = align === "center" ? x - width / 2 : x;
  if (frame) left = Math.max(4, Math.min(left, frame.width - width - 4));
  context.beginPath();
  context.roundRect(left, y, width, height, 6);
  context.fillStyle = cap ? "rgba(250, 250, 250, 0.94)" : "rgba(17, 20, 24, 0.86)";
  context.fill();
  context.strokeStyle = cap ? "rgba(0, 0, 0, 0.7)" : INK;
  context.lineWidth = cap ? 2 : 1.5;
  context.stroke();
  if (cap) {
    context.beginPath();
    context.moveTo(left + 6, y + height - 4);
    context.lineTo(left + width - 6, y + height - 4);
    context.strokeStyle = "rgba(0, 0, 0, 0.35)";
    context.stroke();
  }
  context.fillStyle = cap ? "#111418" : "#fff";
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.fillText(shown, left + width / 2, y + height / 2 + 1);
  return left + width;
}

function keys(context, frame, names, caption) {
  const y = frame.height - 48;
  let x = 12;
  for (const name of names) x = plate(context, WORDS[name] ?? name, x, y, { cap: true, size: 18 }) + 8;
  if (caption) plate(context, caption, x, y + 4, { size: 14 });
}

const GESTURES = {
  move: (context, frame, a) => pointer(context, a.x, a.y),
  click: (context, frame, a) => {
    for (let i = 0; i < (a.count ?? 1); i++) ring(context, a.x, a.y, 12 + i * 7);
    pointer(context, a.x, a.y);
    if ((a.button ?? "left") !== "left" || a.count > 1) plate(context, `${a.button ?? "left"} ×${a.count ?? 1}`, a.x + 16, a.y + 22, { size: 13, frame });
  },
  drag: (context, frame, a) => {
    ring(context, a.x, a.y, 8);
    arrow(context, a.x, a.y, a.to_x, a.to_y);
    pointer(context, a.to_x, a.to_y);
  },
  scroll: (context, frame, a) => {
    const way = Math.sign(a.clicks) || 1;
    ring(context, a.x, a.y, 8);
    arrow(context, a.x, a.y + way * 26, a.x, a.y - way * 26);
    plate(context, `scroll ${Math.abs(a.clicks)} ${a.clicks >= 0 ? "up" : "down"}`, a.x + 18, a.y - 14, { size: 13, frame });
  },
  press: (context, frame, a) => keys(context, frame, [a.key]),
  hold: (context, frame, a) => keys(context, frame, [a.key], `held ${a.ms ?? 200} ms`),
  key_down: (context, frame, a) => keys(context, frame, [a.key], "down"),
  key_up: (context, frame, a) => keys(context, frame, [a.key], "up"),
  hotkey: (context, frame, a) => keys(context, frame, a.keys ?? []),
  type: (context, frame, a) => plate(context, `⌨ ${a.text}`, 12, frame.height - 46, { frame }),
  wait: (context, frame, a) => plate(context, `wait ${a.ms ?? 100} ms`, 12, frame.height - 46, { frame }),
};

/** Seven numbers of an end effector: an arrow for x and y, a bar for z, rotation in words, the gripper. */
function native(context, frame, action) {
  const [dx, dy, dz, ...rest] = action;
  const [cx, cy, radius] = [62, frame.height - 66, 44];
  context.beginPath();
  context.roundRect(8, frame.height - 122, 236, 114, 8);
  context.fillStyle = "rgba(17, 20, 24, 0.82)";
  context.fill();
  context.strokeStyle = "rgba(255, 255, 255, 0.35)";
  context.lineWidth = 1;
  context.beginPath();
  context.arc(cx, cy, radius, 0, Math.PI * 2);
  context.moveTo(cx - radius, cy);
  context.lineTo(cx + radius, cy);
  context.moveTo(cx, cy - radius);
  context.lineTo(cx, cy + radius);
  context.stroke();
  context.font = "600 11px system-ui, sans-serif";
  context.fillStyle = "rgba(255, 255, 255, 0.75)";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText("x", cx + 8, cy - radius + 6);
  context.fillText("y", cx + radius - 6, cy - 8);
  context.fillText("z", 124, cy - radius + 2);
  if (Math.hypot(dx, dy) > 0.02) arrow(context, cx, cy, cx + dy * radius, cy - dx * radius, 9);
  context.strokeStyle = "rgba(255, 255, 255, 0.35)";
  context.strokeRect(118, cy - radius + 10, 12, 2 * radius - 12);
  const middle = cy + 4;
  context.fillStyle = INK;
  context.fillRect(119, Math.min(middle, middle - dz * 36), 10, Math.abs(dz) * 36);
  context.fillStyle = "#fff";
  context.textAlign = "left";
  const sign = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
  const grip = rest[3];
  [`x ${sign(dx)}`, `y ${sign(dy)}`, `z ${sign(dz)}`].forEach((text, i) => context.fillText(text, 142, frame.height - 106 + i * 15));
  context.fillText(`rot ${rest.slice(0, 3).map((v) => (Math.abs(v) < 0.05 ? "0" : v.toFixed(1).replace("-", "−"))).join(" ")}`, 142, frame.height - 56);
  context.font = "600 13px system-ui, sans-serif";
  context.fillText(grip > 0 ? "▮▮ closing" : grip < 0 ? "▮  ▮ opening" : "gripper still", 142, frame.height - 32);
}

function semantic(context, frame, action) {
  const entries = Object.entries(action);
  const text = entries.map(([key, value]) => (entries.length === 1 ? `${key} ${brief(value)}` : `${key}: ${brief(value)}`)).join(", ");
  const way = entries.map(([, value]) => WORDS[value]).find((sign) => sign?.length === 1);
  plate(context, (way ? way + "  " : "") + (text || "{}"), frame.width / 2, frame.height - 42, { align: "center", frame });
}

const brief = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Draw what a step did; a step without an action says so. */
export function drawAction(context, frame, step, space) {
  if (!step) return;
  if (step.action === null || step.action === undefined) plate(context, `no action: ${step.status}`, 12, frame.height - 46, { frame });
  else if (Array.isArray(step.action) && step.action.length === 7) native(context, frame, step.action);
  else if (space === "gui" && Object.hasOwn(GESTURES, step.action.verb)) GESTURES[step.action.verb](context, frame, step.action);
  else if (typeof step.action === "object") semantic(context, frame, step.action);
  if (step.status !== "ok" && step.action !== null) plate(context, `⊘ ${step.status}`, 12, 12, { size: 15, frame });
}
