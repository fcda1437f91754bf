import type { InputLine } from '../../../reference/input.ts';
import { lives, unions } from './accounts.ts';
import { frontier, revive } from './ethereum.ts';
import { amounts, prices, sources } from './fees.ts';
import { averages, emptyDays, gaps, lastDay, manyMonths, rollingWindows } from './time.ts';
import { otherArchives, refusedFacts, refusedLines } from './unusual-input.ts';
import { versions } from './versions.ts';
import { everyWrapper, wrapperDomains } from './wrappers.ts';

/** Small sets of blocks for cases that the recordings lack. */
export const families: Readonly<Record<string, readonly InputLine[]>> = {
  gaps,
  'empty days': emptyDays,
  'many months': manyMonths,
  'rolling windows': rollingWindows,
  averages,
  'the last day': lastDay,
  'lives of accounts': lives,
  'unions of chains': unions,
  'sources of fees': sources,
  amounts,
  prices,
  'Ethereum on a frontier chain': frontier,
  'Ethereum on an asset hub': revive,
  'every wrapper': everyWrapper,
  'domains of wrappers': wrapperDomains,
  'refused facts': refusedFacts,
  'other archives': otherArchives,
  'refused lines': refusedLines,
  versions,
};
