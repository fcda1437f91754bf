/** A chart as a picture to share: with its title, its legend and where it comes from. */
import type uPlot from 'uplot';
import { isoDay } from '../../../infra/days.ts';
import { periodName } from '../drawing.ts';
import { unitOf } from '../format.ts';
import { type Colours, colourOf } from './colours.ts';
import type { ChartModel } from './model.ts';

const PAD = 24;
const LINE = 22;

export async function imageOf(model: ChartModel, u: uPlot, colours: Colours): Promise<Blob | null> {
  const ratio = devicePixelRatio;
  const { series, axes, times, per } = model.drawing.value;
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const names = series.map(({ data, colour }) => ({ name: plain(data.title), colour }));
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  const font = (px: number, weight = 400) => `${weight} ${px}px ${colours.font}`;
  context.font = font(14);
  const rows = rowsOf(names, u.width, (name) => context.measureText(name).width + 40);
  const top = PAD + 30 + LINE + rows.length * LINE + 14;
  canvas.width = (u.width + 2 * PAD) * ratio;
  canvas.height = (top + u.height + LINE + PAD) * ratio;
  context.scale(ratio, ratio);
  context.fillStyle = colours.card;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = 'top';
  const write = (text: string, x: number, y: number, px: number, colour: string, weight = 400) => {
    context.font = font(px, weight);
    context.fillStyle = colour;
    context.fillText(text, x, y, u.width);
  };
  write(plain(model.title), PAD, PAD, 20, colours.text, 650);
  const units = axes.map(({ unit, token }) => unitOf(unit, token)).filter((unit) => unit !== '');
  const range = `${periodName(first, per)} – ${periodName(last, per)}`;
  write([range, ...units].join(' · '), PAD, PAD + 30, 14, colours.quiet);
  rows.forEach((row, i) => {
    for (const { x, name, colour } of row) {
      const y = PAD + 34 + LINE + i * LINE;
      context.fillStyle = colourOf(colours.series, colour);
      context.fillRect(PAD + x, y + 6, 14, 4);
      write(name, PAD + x + 22, y, 14, colours.text);
    }
  });
  context.drawImage(u.ctx.canvas, PAD, top, u.width, u.height);
  const source = `${model.isDemo ? 'Made-up demo data · ' : ''}Chain Metrics · ${location.host}${location.pathname}`;
  write(source, PAD, top + u.height + 8, 12, colours.quiet);
  return new Promise((done) => canvas.toBlob(done, 'image/png'));
}

/** A name for the file of a picture. */
export function fileName({ title, answer, drawing }: ChartModel): string {
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 80);
  return `${name || 'chart'}-${answer.start}-${isoDay(drawing.value.times.at(-1) ?? 0)}.png`;
}

interface Placed {
  readonly name: string;
  readonly colour: number;
  readonly x: number;
}

/** Names in as many rows as they need. */
function rowsOf(
  names: readonly { name: string; colour: number }[],
  width: number,
  widthOf: (name: string) => number,
): readonly (readonly Placed[])[] {
  const rows: Placed[][] = [];
  let x = width;
  for (const one of names) {
    const needed = widthOf(one.name);
    if (x + needed > width) {
      rows.push([]);
      x = 0;
    }
    rows.at(-1)?.push({ ...one, x });
    x += needed;
  }
  return rows;
}

/** Without characters that are not seen or that turn the direction of a text. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 120);
