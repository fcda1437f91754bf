// Options of Node for every process of the product. Plain JavaScript: `serve/bin.js` reads it on any Node.

const OPTIONS = [
  // Kafka's client sets timers that Node finds fault with; they do no harm.
  '--disable-warning=TimeoutNegativeWarning',
  // MB. By itself V8 lets the space of young objects grow to 128 MB, and half of it stays resident when all is quiet.
  // Loading blocks takes as much processor time with a quarter, taking alerts 4 % more.
  '--max-semi-space-size=16',
];

/** The value of `NODE_OPTIONS` where it has this value; what an operator has set in it prevails. */
export const nodeOptions = (given = '') => [...OPTIONS, given].join(' ').trim();
