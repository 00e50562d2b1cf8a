// Shows values under a crosshair, zooms along the x axis, toggles series. Without this script only these are missing.
const SVG = 'http://www.w3.org/2000/svg';
const set = (node, attributes) => { for (const key in attributes) node.setAttribute(key, attributes[key]); };
const make = (name, attributes, parent) => {
	const node = document.createElementNS(SVG, name);
	set(node, attributes);
	return parent.appendChild(node);
};
const scale = text => {
	const [low, high, from, to, kind] = text.split(' ').map((part, i) => (i < 4 ? +part : part));
	const log = kind === 'log';
	return {
		low, high, from, to, log,
		value: pixel => {
			const share = (pixel - from) / (to - from);
			return log ? low * Math.pow(high / low, share) : low + share * (high - low);
		},
		at: value => from + (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low)) * (to - from),
	};
};
// Formats a value with as many digits as a pixel of the axis can resolve.
const shown = (axis, value) => {
	const pixel = axis.log ? Math.abs(value) / 100 : Math.abs((axis.high - axis.low) / (axis.to - axis.from));
	const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(pixel || 1))));
	return value.toFixed(digits).replace('-', '−');
};
// Parses path data of the report: M and relative h, v, l.
const points = data => {
	const list = [];
	let x = 0, y = 0;
	for (const [, letter, rest] of data.matchAll(/([Mhvl])([^Mhvlz]*)/g)) {
		const n = (rest.match(/-?(?:\d+\.?\d*|\.\d+)/g) || []).map(Number);
		if (letter === 'M') { [x, y] = n; list.push([x, y, true]); continue; }
		x += letter === 'v' ? 0 : n[0];
		y += letter === 'h' ? 0 : letter === 'v' ? n[0] : n[1];
		list.push([x, y, false]);
	}
	return list;
};
// Reads a curve at x, and interpolates between points except across gaps.
const read = (path, x, exact) => {
	path.points ||= points(path.getAttribute('d'));
	let last = null;
	for (const point of path.points) {
		if (Math.abs(point[0] - x) < 0.1) return point[1];
		if (!exact && last && !point[2] && last[0] <= x && x <= point[0]) {
			const width = point[0] - last[0];
			return width ? last[1] + (x - last[0]) / width * (point[1] - last[1]) : point[1];
		}
		last = point;
	}
	return null;
};
const nice = raw => {
	const power = Math.pow(10, Math.floor(Math.log10(raw)));
	return [1, 2, 5, 10].map(m => m * power).find(step => step >= raw * 0.999999);
};

const tip = document.body.appendChild(document.createElement('div'));
tip.className = 'reading';
tip.hidden = true;

class Chart {
	constructor(svg) {
		this.svg = svg;
		this.plots = [...svg.querySelectorAll('g.plot')].map(g => ({
			g, x: scale(g.dataset.x), y: scale(g.dataset.y),
			units: g.dataset.units.split('|'),
			// Values that were run: pixel and name.
			at: g.dataset.at?.split(' ').map(stop => stop.split('=')),
			curves: [...g.querySelectorAll('path[data-series]')],
		}));
		this.shared = this.plots.every(p => p.g.dataset.x === this.plots[0].g.dataset.x) && !this.plots[0].x.log && !this.plots[0].at;
		this.window = null;
		this.hair = make('path', { class: 'hair', fill: 'none', 'pointer-events': 'none' }, svg);
		this.mark = make('rect', { class: 'range', 'pointer-events': 'none', width: 0 }, svg);
		svg.setAttribute('tabindex', '0');
		this.keys();
		const on = (name, act) => svg.addEventListener(name, act);
		on('pointermove', e => this.move(e));
		on('pointerleave', () => this.leave());
		on('blur', () => this.leave());
		if (this.shared) {
			on('pointerdown', e => this.down(e));
			on('pointerup', e => this.up(e));
			on('dblclick', () => this.zoom(null));
		}
		on('keydown', e => this.press(e));
	}
	keys() {
		for (const key of this.svg.querySelectorAll('g.key')) {
			const name = key.dataset.series;
			const mine = [...this.svg.querySelectorAll('g.plot [data-series]')].filter(n => n.dataset.series === name);
			if (!mine.length) continue;
			set(key, { role: 'button', tabindex: 0, 'aria-pressed': true });
			const turn = () => {
				const off = key.classList.toggle('off');
				key.setAttribute('aria-pressed', String(!off));
				mine.forEach(node => node.classList.toggle('off', off));
			};
			key.addEventListener('click', turn);
			key.addEventListener('keydown', e => {
				if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); e.stopPropagation(); turn(); }
			});
		}
	}
	place(e) {
		const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
		const plot = this.plots.find(p => at.x >= p.x.from && at.x <= p.x.to && at.y <= p.y.from + 6 && at.y >= p.y.to - 6);
		return { x: at.x, plot };
	}
	// Converts a pixel of the zoomed axis to one of the drawn curve.
	drawn(x, axis) {
		if (!this.window) return x;
		const [a, b] = this.window;
		return a + (x - axis.from) / (axis.to - axis.from) * (b - a);
	}
	move(e) {
		const { x, plot } = this.place(e);
		if (this.start !== undefined && plot) {
			const width = Math.abs(x - this.start);
			const tops = this.plots.map(p => p.y.to), bottoms = this.plots.map(p => p.y.from);
			set(this.mark, { x: Math.min(x, this.start), width, y: Math.min(...tops), height: Math.max(...bottoms) - Math.min(...tops) });
		}
		plot ? this.show(plot, x, e.clientX, e.clientY) : this.leave(true);
	}
	show(plot, x, left, top) {
		const stop = plot.at?.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
		if (stop) x = +stop[0];
		this.last = { plot, x };
		const pixel = this.drawn(x, plot.x);
		const alike = this.plots.filter(p => p.g.dataset.x === plot.g.dataset.x);
		this.hair.setAttribute('d', alike.map(p => `M${x} ${p.y.from}V${p.y.to}`).join(''));
		tip.replaceChildren();
		const row = (name, value, colour) => {
			const line = tip.appendChild(document.createElement('div'));
			if (colour) line.appendChild(document.createElement('i')).style.background = colour;
			line.append(name + ' ');
			line.appendChild(document.createElement('b')).textContent = value;
		};
		row('at', (stop ? stop[1] : shown(plot.x, plot.x.value(pixel))) + plot.units[0]);
		const say = v => plot.g.dataset.words?.split('|')[Math.round(v)] ?? shown(plot.y, v) + plot.units[1];
		for (const curve of plot.curves) {
			const y = curve.closest('.off') ? null : read(curve, pixel, stop);
			if (y !== null) row(curve.dataset.series, say(plot.y.value(y)), getComputedStyle(curve).stroke);
		}
		tip.hidden = false;
		const size = tip.getBoundingClientRect();
		tip.style.left = Math.max(4, left + size.width + 24 > innerWidth ? left - size.width - 14 : left + 14) + 'px';
		tip.style.top = Math.max(4, Math.min(top + 14, innerHeight - size.height - 4)) + 'px';
	}
	leave(inside) {
		this.hair.setAttribute('d', '');
		tip.hidden = true;
		if (!inside) { this.start = undefined; set(this.mark, { width: 0 }); }
	}
	down(e) {
		const { x, plot } = this.place(e);
		if (plot && e.pointerType === 'mouse' && e.button === 0) { this.start = x; e.preventDefault(); this.svg.focus({ preventScroll: true }); }
	}
	up(e) {
		const { x } = this.place(e), start = this.start;
		this.start = undefined;
		set(this.mark, { width: 0 });
		if (start === undefined || Math.abs(x - start) < 6) return;
		const axis = this.plots[0].x, inside = v => Math.min(axis.to, Math.max(axis.from, v));
		this.zoom([start, x].map(v => this.drawn(inside(v), axis)).sort((a, b) => a - b));
	}
	press(e) {
		if (e.target !== this.svg) return;
		const plot = this.last ? this.last.plot : this.plots[0], axis = plot.x, width = axis.to - axis.from;
		let x = this.last ? this.last.x : axis.from + width / 2;
		const around = factor => {
			const [a, b] = this.window || [axis.from, axis.to], middle = this.drawn(x, axis), half = (b - a) * factor / 2;
			const from = Math.max(axis.from, Math.min(middle - half, axis.to - 2 * half));
			this.zoom(2 * half >= width ? null : [from, from + 2 * half]);
		};
		const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
		if (step && plot.at) {
			const i = plot.at.findIndex(stop => +stop[0] === x);
			x = +(plot.at[i + step] || plot.at[Math.max(i, 0)])[0];
		} else if (step) x += step * width / (e.shiftKey ? 20 : 200);
		else if (e.key === '+' && this.shared) around(0.5);
		else if (e.key === '-' && this.shared) around(2);
		else if ((e.key === '0' || e.key === 'Escape') && this.shared) this.zoom(null);
		else return;
		e.preventDefault();
		x = Math.min(axis.to, Math.max(axis.from, x));
		const at = new DOMPoint(x, plot.y.to).matrixTransform(this.svg.getScreenCTM());
		this.show(plot, x, at.x, at.y);
	}
	zoom(window) {
		this.window = window && window[1] - window[0] > 0.2 ? window : null;
		const axis = this.plots[0].x, [a, b] = this.window || [axis.from, axis.to], factor = (axis.to - axis.from) / (b - a);
		for (const plot of this.plots) {
			plot.inner ||= this.wrap(plot);
			plot.inner.setAttribute('transform', `translate(${axis.from - a * factor} 0) scale(${factor} 1)`);
		}
		for (const ticks of this.svg.querySelectorAll('g.ticks')) this.rescale(ticks, axis, a, b);
		this.svg.classList.toggle('zoomed', !!this.window);
	}
	// Moves the curves into a group that is clipped at the plot's edges.
	wrap(plot) {
		const id = 'clip' + (Chart.count = (Chart.count || 0) + 1);
		const { x, y } = plot, clip = make('clipPath', { id }, plot.g);
		make('rect', { x: x.from, y: y.to - 2, width: x.to - x.from, height: y.from - y.to + 4 }, clip);
		const inner = make('g', { class: 'zoom' }, make('g', { 'clip-path': `url(#${id})` }, plot.g));
		const moved = [...plot.g.children].filter(n => n.matches('path, g.reference, g[data-series]'));
		inner.append(...moved);
		return inner;
	}
	rescale(ticks, axis, a, b) {
		ticks.all ||= [...ticks.children];
		const line = ticks.all.find(n => n.localName === 'line'), text = ticks.all.find(n => n.localName === 'text');
		if (!this.window || !line) { ticks.replaceChildren(...ticks.all); return; }
		const [low, high] = [axis.value(a), axis.value(b)];
		const step = nice((high - low) / Math.max(2, ticks.all.filter(n => n.localName === 'line').length - 1));
		const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), fresh = [];
		for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step && fresh.length < 80; i++) {
			const x = axis.from + (axis.at(i * step) - a) / (b - a) * (axis.to - axis.from);
			const copy = line.cloneNode();
			set(copy, { x1: x, x2: x });
			fresh.push(copy);
			if (!text) continue;
			const label = text.cloneNode();
			label.setAttribute('x', x);
			label.textContent = (i * step).toFixed(digits).replace('-', '−');
			fresh.push(label);
		}
		ticks.replaceChildren(...fresh);
	}
}
document.querySelectorAll('svg.chart:not(:has(svg.panel)), svg.panel').forEach(svg => { if (svg.querySelector('g.plot')) new Chart(svg); });
// Paper cannot be unfolded, so important parts are.
addEventListener('beforeprint', () => { for (const d of document.querySelectorAll('.paper')) d.open = true; });

// Sorts long tables by the column whose name is pressed: by number, or else by text.
for (const table of document.querySelectorAll('table[data-sortable]')) {
	const body = table.tBodies[0];
	[...table.tHead.rows[0].cells].forEach((head, i) => {
		const button = document.createElement('button');
		button.append(...head.childNodes);
		head.append(button);
		button.addEventListener('click', () => {
			const down = head.getAttribute('aria-sort') === 'ascending';
			for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
			head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
			const text = row => row.cells[i].textContent;
			const order = (a, b) => parseFloat(text(a)) - parseFloat(text(b)) || text(a).localeCompare(text(b), 'en', { numeric: true });
			body.append(...[...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b))));
		});
	});
}

// Replaces many labels by a list to select from.
for (const fold of document.querySelectorAll('details[data-choice]')) {
	const choice = document.createElement('label');
	const list = document.createElement('select');
	for (const label of fold.querySelectorAll('label')) {
		list.add(new Option(label.textContent, label.htmlFor, false, document.getElementById(label.htmlFor).checked));
	}
	list.addEventListener('change', () => document.getElementById(list.value).click());
	choice.className = 'choice';
	choice.append(fold.querySelector('summary').textContent + ' ', list);
	fold.replaceWith(choice);
}
