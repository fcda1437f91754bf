import { type Browser, chromium } from 'playwright-core';
import { CHROMIUM } from './needed.ts';

/** Chromium without a window, and without the requests that it makes of its own accord. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Names by which a test can reach its own server.
      '--host-resolver-rules=MAP *.test 127.0.0.1',
    ],
  });

/** Rules of axe that look at colours: in the other colour scheme a page has the same elements, of other colours. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
