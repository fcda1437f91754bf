import { describe, expect, it } from 'vitest';
import { html } from '../../../serve/pages/html.ts';
import { chart, LINES_MAX } from '../../../serve/pages/line-chart.ts';

const at = (day: string) => new Date(`${day}T00:00:00Z`);
const seriesOf = (name: string, points: Record<string, number>) => ({
  name,
  points: Object.entries(points).map(([day, value]) => ({ at: at(day), value })),
});
const EMPTY = html`nothing`;
const count = (text: string, part: string) => text.split(part).length - 1;

describe('a chart', () => {
  it('has a line for each series, broken where days have no value, and a value behind each point', () => {
    const { text } = chart(
      [
        seriesOf('polkadot', { '2026-01-01': 1, '2026-01-02': 5, '2026-01-05': 2 }),
        seriesOf('moonbeam', { '2026-01-01': 3 }),
      ],
      'a label',
      EMPTY,
    );
    expect(count(text, '<path ')).toBe(3);
    expect(count(text, '<circle ')).toBe(4);
    expect(text).toContain('<title>polkadot\n2026-01-02: 5</title>');
    expect(text).toContain('aria-label="a label"');
  });

  it('goes on over months, whose values stand at their last day', () => {
    const { text } = chart(
      [seriesOf('polkadot', { '2026-01-31': 1, '2026-02-28': 2, '2026-03-31': 3 })],
      '',
      EMPTY,
    );
    expect(count(text, '<path ')).toBe(1);
  });

  it('draws no more lines than can be told apart', () => {
    const many = Array.from({ length: LINES_MAX + 3 }, (_, i) => seriesOf(`chain-${i}`, { '2026-01-01': i }));
    expect(count(chart(many, '', EMPTY).text, '<circle ')).toBe(LINES_MAX);
  });

  it('without a value says so', () => {
    expect(chart([], '', EMPTY).text).toContain('nothing');
  });

  it('writes names as text', () => {
    expect(chart([seriesOf('<script>', { '2026-01-01': 1 })], '', EMPTY).text).not.toContain('<script>');
  });
});
