import { type Html, html } from '../../pages/html.ts';
import { lightColours } from '../../pages/light-colours.ts';
import { plot } from '../charts/plot.ts';
import type { Drawing } from '../drawing.ts';
import { legendValue } from '../summary.ts';
import { axisNames } from '../value-axes.ts';

/** The size that sites which show links ask for. */
export const PREVIEW = { width: 1200, height: 630 } as const;
const MARGIN = 60;
const TITLE_CHARS_MAX = 44;
const NAMES_SHOWN = 4;
const NAME_CHARS_MAX = 22;
const LEGEND_GAP = 270;
const AXIS_CHARS_MAX = 60;
const PLOT_TOP = 222;

export interface PreviewContent {
  readonly title: string;
  /** What stands below the title, such as the days. */
  readonly lead: string;
  readonly drawing: Drawing;
}

/** A chart as the picture that stands beside a link to it: in light colours, with what it shows in large letters. */
export function previewSvg({ title, lead, drawing }: PreviewContent): Html {
  const { width, height } = PREVIEW;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
${style()}
<rect class="page" width="${width}" height="${height}"/>
<text class="brand" x="${width - MARGIN}" y="126" text-anchor="end">Chain Metrics</text>
<text class="title" x="${MARGIN}" y="84">${shortened(title, TITLE_CHARS_MAX)}</text>
<text class="lead" x="${MARGIN}" y="126">${lead}</text>
${legend(drawing)}
${axes(drawing)}
<svg x="${MARGIN - 20}" y="${PLOT_TOP}" width="${width - 2 * MARGIN + 20}" height="${height - PLOT_TOP - 24}">${plot(drawing, title)}</svg>
</svg>`;
}

/** The first series with their newest values. */
function legend(drawing: Drawing): Html[] {
  return drawing.series.slice(0, NAMES_SHOWN).map(({ data, colour }, i) => {
    const x = MARGIN + i * LEGEND_GAP;
    return html`<rect class="line-${colour} mark" x="${x}" y="152" width="14" height="14" rx="3"/>
<text class="name" x="${x + 22}" y="165">${shortened(data.title, NAME_CHARS_MAX)}</text>
<text class="value" x="${x + 22}" y="190">${legendValue(drawing, data.id, null)}</text>`;
  });
}

/** What the numbers of the axes count. */
function axes(drawing: Drawing): Html[] {
  return axisNames(drawing).map((name, i) => {
    const [x, anchor] = i === 0 ? [MARGIN, 'start'] : [PREVIEW.width - MARGIN, 'end'];
    return html`<text class="axis" x="${x}" y="${PLOT_TOP - 4}" text-anchor="${anchor}">${shortened(name, AXIS_CHARS_MAX)}</text>`;
  });
}

/** The rules of the pages name colours that only browsers know. */
function style(): Html {
  const { page, ink, muted, line, accent, series } = lightColours;
  const rules = [
    `text { font-family: Inter; fill: ${ink} }`,
    `.page { fill: ${page} }`,
    `.title { font-size: 44px; font-weight: 600 }`,
    `.brand { font-size: 24px; font-weight: 600; fill: ${accent} }`,
    `.lead { font-size: 24px; fill: ${muted} }`,
    `.name { font-size: 17px; fill: ${muted} }`,
    `.value { font-size: 20px; font-weight: 600 }`,
    `.axis { font-size: 15px; fill: ${muted} }`,
    `.tick { font-size: 10px; fill: ${muted} }`,
    `.grid { stroke: ${line}; stroke-width: 0.7 }`,
    `.veil { fill: ${page}; opacity: 0.55 }`,
    `.gap { fill: ${line}; opacity: 0.6 }`,
    ...series.flatMap((colour, i) => [
      `.line-${i} path { stroke: ${colour}; stroke-width: 1.7; fill: none; stroke-linejoin: round }`,
      `.line-${i} .rest { stroke-dasharray: 3 3 }`,
      `.line-${i} .area { fill: ${colour}; fill-opacity: 0.55; stroke: none }`,
      `.line-${i} .edge { stroke-width: 0.7 }`,
      `.line-${i} circle, .mark.line-${i} { fill: ${colour} }`,
    ]),
  ];
  return html`<style>${rules.join('\n')}</style>`;
}

const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).trimEnd()}…`;
