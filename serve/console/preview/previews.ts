import { createRequire } from 'node:module';
import { LRUCache } from 'lru-cache';
import { Mutex } from '../../../infra/coordination/lock.ts';
import { PREVIEW, type PreviewContent, previewSvg } from './preview-svg.ts';

/** One picture takes a tenth of a second of a thread that the store needs too. */
const WAITING_MAX = 8;
const CACHE_BYTES = 8 * 1024 * 1024;

const fontFile = (weight: string) =>
  createRequire(import.meta.url).resolve(`@expo-google-fonts/inter/${weight}.ttf`);
const FONT = {
  fontFiles: ['400Regular/Inter_400Regular', '600SemiBold/Inter_600SemiBold'].map(fontFile),
  loadSystemFonts: false,
  defaultFontFamily: 'Inter',
};

/** Draws the pictures of links, one at a time, and keeps those that were asked for last. */
export class Previews {
  readonly #drawing = new Mutex();
  readonly #kept = new LRUCache<string, Buffer>({
    maxSize: CACHE_BYTES,
    sizeCalculation: (png, svg) => png.length + svg.length,
  });
  /** Null where its program, an optional package, is not installed. */
  readonly #renderer = import('@resvg/resvg-js').then(
    ({ renderAsync }) => renderAsync,
    () => null,
  );
  #waiting = 0;

  /** A PNG; null where too many are waited for, or none can be drawn. */
  async draw(content: PreviewContent): Promise<Buffer | null> {
    const svg = previewSvg(content).text;
    const known = this.#kept.get(svg);
    if (known !== undefined) return known;
    if (this.#waiting >= WAITING_MAX) return null;
    this.#waiting++;
    try {
      return await this.#drawing.run(async () => this.#kept.get(svg) ?? (await this.#render(svg)));
    } finally {
      this.#waiting--;
    }
  }

  async #render(svg: string): Promise<Buffer | null> {
    const render = await this.#renderer;
    if (render === null) return null;
    const drawn = await render(svg, { font: FONT, fitTo: { mode: 'width', value: PREVIEW.width } });
    const png = drawn.asPng();
    this.#kept.set(svg, png);
    return png;
  }
}
