import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../../../infra/ports/opened.ts';
import { axeViolations, loadAxe } from '../../../support/axe.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { MailServer } from '../../mail/mail-server.ts';
import { Service } from '../service.ts';

const SCREENS = new URL('../../../output/screens/', import.meta.url).pathname;
const STEPS = { id: '1/steps', data: { project: 1, name: 'steps' } };

/** A screen of a phone, in a browser that runs no scripts. */
const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

/** A server whose clock a test moves, its mail, and the browsers of the people who use it. */
export class Workplace {
  readonly service: Service;
  readonly mail: MailServer;
  readonly origin: string;
  readonly #browser: Browser;
  readonly #clock: { aheadMs: number };

  private constructor(
    parts: { service: Service; mail: MailServer; origin: string },
    browser: Browser,
    clock: { aheadMs: number },
  ) {
    this.service = parts.service;
    this.mail = parts.mail;
    this.origin = parts.origin;
    this.#browser = browser;
    this.#clock = clock;
  }

  static async open(begin: string): Promise<Workplace> {
    mkdirSync(SCREENS, { recursive: true });
    const clock = { aheadMs: Date.parse(begin) - Date.now() };
    const mail = await MailServer.open();
    const settings = { SMTP_URL: mail.url, SMTP_FROM: 'pager@example.org', SMTP_REQUIRE_TLS: 'false' };
    const service = await Service.open(
      { ...settings, PAGE_BUNDLE_SECONDS: '0' },
      { now: () => Date.now() + clock.aheadMs },
    );
    const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
    return new Workplace({ service, mail, origin }, await launchBrowser(), clock);
  }

  /** Moves the clock, and wakes the steps of pages as it would have done. */
  async moveTo(time: string): Promise<void> {
    this.#clock.aheadMs = Date.parse(time) - Date.now();
    await this.service.pipeline.runtime.queue.add('page-steps', STEPS);
  }

  async colleague(name: string, hasScripts: boolean): Promise<Colleague> {
    const options: BrowserContextOptions = hasScripts
      ? { timezoneId: 'Europe/Berlin', reducedMotion: 'reduce' }
      : { ...PHONE, javaScriptEnabled: false };
    const context = await this.#browser.newContext({ ...options, baseURL: this.origin });
    context.setDefaultTimeout(20_000);
    return new Colleague(name, this, { page: await context.newPage(), hasScripts });
  }

  /** The subjects of the mails to an address. */
  subjectsTo({ address }: Colleague): string[] {
    return this.#mailsTo(address).map(({ headers }) => new Map(headers).get('subject') ?? '');
  }

  /** The text of the newest mail to an address, without the encoding of its lines. */
  lastTo({ address }: Colleague): string {
    const { source = '' } = this.#mailsTo(address).at(-1) ?? {};
    return source.replace(/=\r\n/g, '').replaceAll('=3D', '=');
  }

  #mailsTo(address: string) {
    return this.mail.mails.filter(({ to }) => to.includes(address));
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.service.close();
    await this.mail.close();
  }
}

/** Somebody of the team at a browser. */
export class Colleague {
  readonly name: string;
  readonly page: Page;
  readonly #hasScripts: boolean;
  /** How often they clicked, chose or typed. */
  actions = 0;
  readonly #workplace: Workplace;
  #mailsRead = 0;

  constructor(
    name: string,
    workplace: Workplace,
    { page, hasScripts }: { readonly page: Page; readonly hasScripts: boolean },
  ) {
    this.name = name;
    this.#workplace = workplace;
    this.page = page;
    this.#hasScripts = hasScripts;
  }

  get address(): string {
    return `${this.name}@example.org`;
  }

  async fill(label: string, value: string): Promise<void> {
    this.actions++;
    await this.page.getByLabel(label, { exact: true }).fill(value);
  }

  async choose(label: string, option: string): Promise<void> {
    this.actions++;
    await this.page.getByRole('combobox', { name: label, exact: true }).selectOption({ label: option });
  }

  async click(button: string | RegExp): Promise<void> {
    this.actions++;
    await this.page.getByRole('button', { name: button, exact: true }).first().click();
  }

  async follow(link: string | RegExp): Promise<void> {
    this.actions++;
    await this.page.getByRole('link', { name: link, exact: true }).first().click();
  }

  async tab(name: string): Promise<void> {
    this.actions++;
    await this.page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name }).click();
  }

  /** The note of the last action. */
  async note(): Promise<string> {
    return (await this.page.locator('.note.good').first().textContent()) ?? '';
  }

  async text(): Promise<string> {
    return ((await this.page.locator('main').textContent()) ?? '').replace(/\s+/g, ' ');
  }

  /** Waits until a page shows a text. */
  async see(path: string, text: string): Promise<void> {
    await until(`${path} shows ${text}`, async () => {
      await this.page.goto(path);
      return (await this.text()).includes(text);
    });
  }

  /** Waits for the next mails and returns their subjects. */
  async getMail(count = 1): Promise<string[]> {
    const all = () => this.#workplace.subjectsTo(this);
    const wanted = this.#mailsRead + count;
    await until(`${this.name} has ${count} more mails`, () => all().length >= wanted);
    const subjects = all().slice(this.#mailsRead);
    this.#mailsRead += subjects.length;
    return subjects;
  }

  /** Subjects of mails that were not asked for. */
  get unreadMail(): readonly string[] {
    return this.#workplace.subjectsTo(this).slice(this.#mailsRead);
  }

  get lastMail(): string {
    return this.#workplace.lastTo(this);
  }

  async signUp(): Promise<void> {
    await this.page.goto('/sign-up');
    await this.fill('Username', this.name);
    await this.fill('Password', 'a long enough passphrase 17');
    await this.click('Create account');
    await this.page.waitForURL(/\/profile/);
  }

  /** Adds an address of e-mail, and verifies it by the code that arrives. */
  async addContact(): Promise<void> {
    await this.follow('Notifications');
    expect(await this.text()).toContain('You have no verified contact');
    await this.choose('Type', 'E-mail');
    await this.fill('Address', this.address);
    await this.click('Add contact');
    const [subject = ''] = await this.getMail();
    await this.fill('Code', subject.slice(0, 8));
    await this.click('Confirm');
    expect(await this.note()).toContain('is verified');
  }

  /** Takes screenshots as a phone and a desktop show the page, which must fit them, and be accessible. */
  async look(name: string): Promise<void> {
    const before = this.page.viewportSize() ?? PHONE.viewport;
    for (const width of [360, 1280]) {
      await this.page.setViewportSize({ width, height: 860 });
      await this.page.screenshot({ path: join(SCREENS, `week-${name}-${width}.png`), fullPage: true });
      const widest = await this.page.evaluate<number>('document.documentElement.scrollWidth');
      expect(widest, `${name} at ${width}`).toBeLessThanOrEqual(width);
    }
    await this.page.setViewportSize(before);
    // axe waits for timers, which do not run in a page without scripts.
    if (!this.#hasScripts) return;
    await loadAxe(this.page);
    expect(await axeViolations(this.page, ['wcag2a', 'wcag2aa']), name).toEqual([]);
  }
}
