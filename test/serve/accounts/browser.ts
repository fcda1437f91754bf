import type { FastifyInstance, LightMyRequestResponse } from 'fastify';

export type Answer = LightMyRequestResponse;
export type Fields = Readonly<Record<string, string | readonly string[]>>;

/** A simulated browser: it stores cookies and submits forms. */
export class Browser {
  readonly #app: FastifyInstance;
  readonly #address: string;
  readonly cookies = new Map<string, string>();

  constructor(app: FastifyInstance, address = '192.0.2.1') {
    this.#app = app;
    this.#address = address;
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#keep(
      await this.#app.inject({ url, remoteAddress: this.#address, headers: this.#headers(headers) }),
    );
  }

  /** Opens a page and submits its form with the hidden fields and the given fields. */
  async submit(page: string, action: string, fields: Fields): Promise<Answer> {
    return this.post(action, { ...hiddenFields((await this.get(page)).body, action), ...fields });
  }

  /** Submits a form like `submit` and opens the page that its answer leads to. */
  async submitAndFollow(page: string, action: string, fields: Fields): Promise<Answer> {
    const answer = await this.submit(page, action, fields);
    const { location } = answer.headers;
    return location === undefined ? answer : this.get(String(location));
  }

  async post(url: string, fields: Fields, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#keep(
      await this.#app.inject({
        method: 'POST',
        url,
        remoteAddress: this.#address,
        headers: this.#headers({ 'content-type': 'application/x-www-form-urlencoded', ...headers }),
        payload: encoded(fields),
      }),
    );
  }

  #headers(more: Record<string, string>): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { host: 'localhost', ...(cookie === '' ? {} : { cookie }), ...more };
  }

  #keep(answer: Answer): Answer {
    for (const { name, value, maxAge, expires } of answer.cookies as {
      name: string;
      value: string;
      maxAge?: number;
      expires?: Date;
    }[]) {
      const isOver = maxAge === 0 || (expires !== undefined && expires.getTime() === 0);
      if (isOver) this.cookies.delete(name);
      else this.cookies.set(name, encodeURIComponent(value));
    }
    return answer;
  }
}

export function encoded(fields: Fields): string {
  return Object.entries(fields)
    .flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : value.map((one) => [name, one]),
    )
    .map((pair) => pair.map((part) => encodeURIComponent(part as string)).join('='))
    .join('&');
}

/** The hidden fields of the form with the action, or else of the first form with a token. */
export function hiddenFields(page: string, action: string): Record<string, string> {
  const forms = [...page.matchAll(/<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
  const withToken = forms.filter(([, , inner]) => inner?.includes('form_token'));
  const form = forms.find(([, to]) => plain(to ?? '') === action) ?? withToken[0];
  const inputs = [...(form?.[2] ?? '').matchAll(/<input type="hidden" name="([^"]*)"(?: value="([^"]*)")?/g)];
  return Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, plain(value)]));
}

/** Unescapes HTML text. */
export const plain = (text: string): string =>
  text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
