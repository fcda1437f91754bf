import { type Html, html } from '../../pages/html.ts';
import { lightColours } from '../../pages/light-colours.ts';
import type { SeriesAnswer } from '../chart-state.ts';
import { plot } from '../charts/plot.ts';
import { lastOf } from '../charts/section.ts';
import { formatShort } from '../format.ts';
import { seriesNames } from '../names.ts';

/** The size that sites which show links ask for. */
export const PREVIEW = { width: 1200, height: 630 } as const;
const MARGIN = 60;
const TITLE_CHARS_MAX = 44;
const NAMES_SHOWN = 4;
const NAME_CHARS_MAX = 22;
const LEGEND_GAP = 270;

export interface PreviewContent {
  readonly title: string;
  /** What stands below the title, such as the days. */
  readonly lead: string;
  readonly answer: SeriesAnswer;
}

/** A chart as the picture that stands beside a link to it: in light colours, with what it shows in large letters. */
export function previewSvg({ title, lead, answer }: PreviewContent): Html {
  const { width, height } = PREVIEW;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
${style()}
<rect class="page" width="${width}" height="${height}"/>
<text class="brand" x="${width - MARGIN}" y="126" text-anchor="end">Chain Metrics</text>
<text class="title" x="${MARGIN}" y="84">${shortened(title, TITLE_CHARS_MAX)}</text>
<text class="lead" x="${MARGIN}" y="126">${lead}</text>
${legend(answer)}
<svg x="${MARGIN - 20}" y="196" width="${width - 2 * MARGIN + 20}" height="${height - 220}">${plot(answer, title)}</svg>
</svg>`;
}

/** The first series with their newest values. */
function legend(answer: SeriesAnswer): Html[] {
  const names = seriesNames(answer.series);
  return answer.series.slice(0, NAMES_SHOWN).map(({ values, unit, token }, i) => {
    const x = MARGIN + i * LEGEND_GAP;
    return html`<rect class="line-${i} mark" x="${x}" y="152" width="14" height="14" rx="3"/>
<text class="name" x="${x + 22}" y="165">${shortened(names[i] ?? '', NAME_CHARS_MAX)}</text>
<text class="value" x="${x + 22}" y="190">${formatShort(lastOf(values), unit, token)}</text>`;
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
    `.tick { font-size: 13px; fill: ${muted} }`,
    `.grid { stroke: ${line} }`,
    `.gap { fill: ${line}; opacity: 0.6 }`,
    ...series.flatMap((colour, i) => [
      `.line-${i} path { stroke: ${colour}; stroke-width: 2.5; fill: none; stroke-linejoin: round }`,
      `.line-${i} circle, .mark.line-${i} { fill: ${colour} }`,
    ]),
  ];
  return html`<style>${rules.join('\n')}</style>`;
}

const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).trimEnd()}…`;
