import type { FastifyInstance, FastifyReply } from 'fastify';
import { assetUrl } from '../../pages/assets.ts';
import { namedDrawing } from '../charts/section.ts';
import { type ConsolePages, storeOf } from '../console-pages.ts';
import { seriesNames } from '../names.ts';
import { comparisonOf, comparisonTitle } from '../pages/compare.ts';
import { selectionOf } from '../pages/metric.ts';
import { drawnMetric } from '../series/drawn.ts';
import type { PreviewContent } from './preview-svg.ts';
import { Previews } from './previews.ts';

/** Sites that show links ask for a picture again and again; a day's value may be a quarter of an hour old there. */
const MAX_AGE_SECONDS = 900;

/** Serves the pictures that stand beside links to charts, with the parameters of their pages. */
export function servePreviews(pages: FastifyInstance, sources: ConsolePages): void {
  const previews = new Previews();
  const send = async (reply: FastifyReply, content: PreviewContent) => {
    const hasLines = content.drawing.series.some(({ heights }) => heights.some((value) => value !== null));
    const lead = reply.demoNote ? `${content.lead} · made-up demo data` : content.lead;
    const png = hasLines ? await previews.draw({ ...content, lead }) : null;
    if (png === null) return reply.redirect(assetUrl('preview.png'), 302);
    return reply
      .type('image/png')
      .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
      .header('x-content-type-options', 'nosniff')
      .send(png);
  };

  pages.get<{ Params: { metric: string } }>('/charts/:metric/preview.png', async (request, reply) => {
    const metric = drawnMetric(request.params.metric);
    if (metric === undefined) return reply.callNotFound();
    const store = await storeOf(sources, request, reply);
    const { column, lines, days, answer, state, hidden } = await selectionOf(sources, request, metric, store);
    const [{ title }, whole] = [column.shown, metric.metric.title];
    const lead = `${whole === title ? '' : `${whole} · `}${days.from} to ${days.until}`;
    return send(reply, { title, lead, drawing: namedDrawing(answer, seriesNames(lines), state, hidden) });
  });

  pages.get('/compare/preview.png', async (request, reply) => {
    const store = await storeOf(sources, request, reply);
    const { lines, answer, days, state, hidden } = await comparisonOf(sources, request, store);
    const lead = `${days.from} to ${days.until}`;
    const drawing = namedDrawing(answer, seriesNames(lines), state, hidden);
    return send(reply, { title: comparisonTitle(lines), lead, drawing });
  });
}
