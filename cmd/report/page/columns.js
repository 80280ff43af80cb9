// The tables of the run, read back from the data block. cmd/report/page.hpp says how columns are kept:
// codes in base64, each a number plus one, 0 for null, against the value before or other columns.

const data = JSON.parse(document.getElementById("data").textContent);

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function codesOf(column, rows) {
  const codes = new Float64Array(rows);
  if (column.all !== undefined) return codes.fill(column.all);
  const bytes = bytesOf(column.codes);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    let code = 0;
    let weight = 1;
    for (; bytes[at] >= 128; at++) {
      code += (bytes[at] - 128) * weight;
      weight *= 128;
    }
    codes[row] = code + bytes[at++] * weight;
  }
  return codes;
}

const signed = (zigzag) => (zigzag % 2 === 1 ? -(zigzag + 1) / 2 : zigzag / 2);

class Table {
  constructor(packed) {
    this.rows = packed.rows;
    this.of = packed.of; // rows of the file; more where the page has only some of them
    this.names = packed.columns.map((column) => column.name);
    this.packed = new Map(packed.columns.map((column) => [column.name, column]));
    this.read = new Map();
  }

  has(name) {
    return this.packed.has(name);
  }

  unit(name) {
    return this.packed.get(name).unit;
  }

  isText(name) {
    return this.packed.get(name).texts !== undefined;
  }

  // The numbers of a column; NaN where unknown. Of a column of texts: their places in the list, from 1.
  numbers(name) {
    if (!this.read.has(name)) this.read.set(name, this.unpack(this.packed.get(name)));
    return this.read.get(name);
  }

  // Of a column in ns.
  seconds(name) {
    return Float64Array.from(this.numbers(name), (ns) => ns / 1e9);
  }

  unpack(column) {
    if (column === undefined) return new Float64Array(this.rows).fill(NaN);
    if (column.doubles !== undefined) return new Float64Array(bytesOf(column.doubles).buffer);
    const values = codesOf(column, this.rows);
    const plus = column.plus && this.numbers(column.plus);
    const minus = column.minus && this.numbers(column.minus);
    let before = 0;
    for (let row = 0; row < this.rows; row++) {
      if (values[row] === 0) {
        values[row] = NaN;
        continue;
      }
      let base = column.step ? before : 0;
      if (plus) base += plus[row] || 0;
      if (minus) base -= minus[row] || 0;
      before = base + signed(values[row] - 1);
      values[row] = before;
    }
    return values;
  }

  // A value as a person reads it: a number, a text, or null.
  value(name, row) {
    const number = this.numbers(name)[row];
    if (Number.isNaN(number)) return null;
    return this.isText(name) ? this.packed.get(name).texts[number - 1] : number;
  }

  // All values of a column of texts, null where there is none.
  texts(name) {
    const list = this.packed.get(name).texts || [];
    return Array.from(this.numbers(name), (number) => (number > 0 ? list[number - 1] : null));
  }

  anyKnown(name) {
    return this.has(name) && this.numbers(name).some((value) => !Number.isNaN(value));
  }
}
