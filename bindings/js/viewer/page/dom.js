// Elements, made in one call.

/** An element with properties, `on…` listeners, attributes that begin with `aria-` or `data-`, `class`; and what is in it. */
export function el(name, properties = {}, ...inside) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (key === 'class') e.className = value;
    else if (key in e && !key.includes('-')) e[key] = value;
    else e.setAttribute(key, value === true ? '' : value);
  }
  e.append(...inside.filter((part) => part !== undefined && part !== false));
  return e;
}

/** A labelled range, with its value beside it. `change` gets the number; `show` makes its text. */
export function slider(label, { min, max, step = 1, value, show = String, change }) {
  const out = el('output', {}, show(value));
  const input = el('input', { type: 'range', oninput: () => { told(); change(Number(input.value)); } });
  const told = () => {
    out.value = show(Number(input.value));
    input.setAttribute('aria-valuetext', out.value);
  };
  const set = (to) => {
    Object.assign(input, { min: to.min ?? input.min, max: to.max ?? input.max, step: to.step ?? input.step });
    if (to.value !== undefined) input.value = to.value;
    told();
  };
  set({ min, max, step, value });
  return { row: el('label', {}, label, input, out), input, set };
}

/** A labelled choice among `[value, text]`. */
export function choice(label, options, value, change) {
  const select = el('select', { onchange: () => change(select.value) }, ...options.map(([v, text]) => el('option', { value: v, selected: v === value }, text)));
  return { row: el('label', {}, label, select), select };
}

/** A labelled number. */
export function number(label, { min, max, step = 'any', value, change }) {
  const input = el('input', { type: 'number', min, max, step, value, onchange: () => Number.isFinite(input.valueAsNumber) && change(input.valueAsNumber) });
  return { row: el('label', {}, label, input), input };
}

/** A list of names and values; `set` replaces one. */
export function facts(entries, list = el('dl', { class: 'facts' })) {
  const values = new Map();
  for (const [name, value] of entries) {
    const dd = el('dd', {}, String(value));
    values.set(name, dd);
    const pair = [el('dt', {}, name), dd];
    list.append(...(list.className === 'facts' ? pair : [el('div', {}, ...pair)]));
  }
  return { list, set: (name, value) => { values.get(name).textContent = value; } };
}

/** Says something to those who listen to the page rather than look at it. */
export function say(text) {
  const said = document.getElementById('said');
  if (said.textContent !== text) said.textContent = text;
}

/** Numbers as people read them. */
export function short(v) {
  if (!Number.isFinite(v)) return String(v);
  return Number.isInteger(v) && Math.abs(v) < 1e7 ? String(v) : String(Number(v.toPrecision(5)));
}

export function bytes(n) {
  for (const unit of ['bytes', 'KB', 'MB', 'GB']) {
    if (n < 1000 || unit === 'GB') return `${unit === 'bytes' ? n : n.toFixed(n < 10 ? 2 : 1)} ${unit}`;
    n /= 1000;
  }
}
