import { readGuides } from '../../serve/guides/guides.ts';

/** A block of code of a guide. */
export interface Block {
  /** The word after its language; empty where there is none. */
  readonly kind: string;
  readonly code: string;
}

/** The blocks of one language in a text of Markdown. */
export const blocksOf = (markdown: string, language: string): Block[] =>
  [...markdown.matchAll(/^```(\w+) ?(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, name, kind = '', code = '']) =>
    name === language ? [{ kind, code }] : [],
  );

/** The blocks of one kind in a guide, for the tests that run them in a place of their own. */
export function guideBlocks(guide: string, kind: string, language = 'sh'): string[] {
  const { text = '' } = [...readGuides().values()].flat().find(({ name }) => name === guide) ?? {};
  const found = blocksOf(text, language).filter((block) => block.kind === kind);
  if (found.length === 0) throw new Error(`the guide ${guide} has no block ${language} ${kind}`);
  return found.map(({ code }) => code);
}
