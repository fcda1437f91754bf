import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { FOLDERS, product, ROOT } from './support/source-files.ts';

const PICTURE = /(?<=<!-- structure -->\n```\n)[\s\S]*?(?=```\n)/;

/** `serve/alerts/pages/list.ts` is a file of `serve/alerts`, and `infra/ports.ts` of `infra`. */
const roomOf = (path: string) => dirname(path).split('/').slice(0, 2).join('/');

/** Rooms of one area that each room imports, without those that it reaches through another one. */
function arrowsOf(area: string): Map<string, string[]> {
  const imported = new Map<string, Set<string>>();
  for (const { path, imports } of product.filter((file) => file.path.startsWith(`${area}/`))) {
    const room = roomOf(path);
    const others = imports.filter((to) => to.startsWith(`${area}/`)).map(roomOf);
    imported.set(room, new Set([...(imported.get(room) ?? []), ...others.filter((to) => to !== room)]));
  }
  const reaches = (from: string, to: string): boolean =>
    [...(imported.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  return new Map(
    [...imported].map(([room, rooms]) => [
      room,
      [...rooms].filter((to) => ![...rooms].some((next) => next !== to && reaches(next, to))).sort(),
    ]),
  );
}

/** Each room below those that it imports. */
function inOrder(arrows: ReadonlyMap<string, readonly string[]>): string[] {
  const placed: string[] = [];
  const place = (room: string): void => {
    for (const below of arrows.get(room) ?? []) place(below);
    if (!placed.includes(room)) placed.push(room);
  };
  for (const room of [...arrows.keys()].sort()) place(room);
  return placed;
}

function drawn(area: string): string {
  const arrows = arrowsOf(area);
  const short = (room: string) => (room === area ? '.' : room.slice(area.length + 1));
  const lines = inOrder(arrows).map((room) => {
    const below = (arrows.get(room) ?? []).map(short).join(', ');
    return below ? `${short(room).padEnd(15)} → ${below}` : short(room);
  });
  return `${lines.join('\n')}\n`;
}

test.each(FOLDERS)('%s/README.md shows which of its folders import which', (area) => {
  const file = join(ROOT, area, 'README.md');
  const text = readFileSync(file, 'utf8');
  // WRITE_STRUCTURE=1 draws them again.
  if (process.env.WRITE_STRUCTURE) writeFileSync(file, text.replace(PICTURE, drawn(area)));
  else expect(PICTURE.exec(text)?.[0]).toBe(drawn(area));
});
