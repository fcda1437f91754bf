import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { metrics } from '../../../aggregate/metrics/index.ts';
import { pagerdutyIntegration } from '../../../serve/alerts/integrations/pagerduty.ts';
import { prometheusIntegration } from '../../../serve/alerts/integrations/prometheus.ts';
import { addressesOf, snippetsOf } from '../../../serve/alerts/integrations/snippets.ts';
import { guideFile, readGuides } from '../../../serve/guides/guides.ts';
import { renderGuide } from '../../../serve/guides/render.ts';
import { settings } from '../../../serve/settings/settings.ts';
import { documents, ROOT, tests } from '../../support/source-files.ts';

const guides = [...readGuides().values()].flat();
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const README_LINES_MAX = 150;

describe('the guides', () => {
  it('say in their first paragraph what they teach', () => {
    for (const { name, title, summary } of guides) {
      expect(title, name).not.toBe('');
      expect(summary, name).toMatch(/^\S.*\.$/);
    }
  });

  it('name every setting, every path of a metric and every field', () => {
    const text = new Map(guides.map((guide) => [guide.name, guide.text]));
    const missing = [
      ...Object.keys(settings.shape).filter((name) => !text.get('settings')?.includes(`| \`${name}\` |`)),
      ...metrics.flatMap(({ endpoints, columns }) =>
        [
          ...endpoints.map(({ path }) => path),
          ...(endpoints.length === 0 ? [] : Object.keys(columns)),
        ].filter((name) => !text.get('metrics')?.includes(name)),
      ),
    ];
    expect(missing).toEqual([]);
  });

  it('show the configurations of senders that the page of an integration shows', () => {
    const access = addressesOf('http://localhost:3000', { id: 'INTEGRATION' });
    const shown = [prometheusIntegration, pagerdutyIntegration].flatMap(({ name: type }) =>
      snippetsOf({ ...access, key: 'INTEGRATION_KEY' }, { type, preset: '' }),
    );
    const text = guides.find(({ name }) => name === 'alerts')?.text ?? '';
    const blocks = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
    expect(blocks).toEqual(shown.filter(({ name }) => name !== 'curl').map((snippet) => snippet.text));
  });

  it('become pages whose sections have the addresses that hosts of repositories give them', () => {
    const { body, headings } = renderGuide({
      title: 'One',
      text: '## How fresh, how `whole`\n\n[one](api.md#order-and-pages) [two](../../../SECURITY.md) [three](https://example.org/a.md)\n\n<b>no markup</b>',
    });
    expect(headings).toEqual([{ id: 'how-fresh-how-whole', text: 'How fresh, how whole' }]);
    expect(body.text).toContain('href="/docs/guides/api#order-and-pages"');
    expect(body.text).toContain('href="/docs/guides/security"');
    expect(body.text).toContain('href="https://example.org/a.md"');
    expect(body.text).toContain('&lt;b&gt;no markup');
  });

  it('have code that can be copied, whose commands ask the server that the page is from', () => {
    const { text } = renderGuide(
      {
        title: 'One',
        text: '```sh\ncurl http://localhost:3000/api\n```\n\n`http://localhost:3000`\n\n```\nb\n```',
      },
      'https://metrics.example',
    ).body;
    expect(text).toContain('<code>curl https://metrics.example/api\n</code>');
    expect(text).toContain('<code>http://localhost:3000</code>');
    expect(text.match(/id="code-\d"|data-copy="code-\d"/g)).toHaveLength(4);
  });

  it('name each of their tables by its section, so that lists of regions tell them apart', () => {
    for (const guide of guides) {
      const names = [...renderGuide(guide).body.text.matchAll(/role="region" aria-label="([^"]*)"/g)].map(
        ([, label]) => label,
      );
      expect(names, guide.name).toEqual([...new Set(names)]);
      expect(names, guide.name).not.toContain('Table');
    }
    const table = '| a |\n|---|\n| b |\n\n';
    const { text } = renderGuide({
      title: 'All "of" it',
      text: `${table}## The \`x\`\n\n${table}text\n\n${table}`,
    }).body;
    expect([...text.matchAll(/aria-label="([^"]*)"/g)].map(([, label]) => label)).toEqual([
      'All &#34;of&#34; it',
      'The x',
      'The x, table 2',
    ]);
  });
});

describe('the texts of the repository', () => {
  it('link to files and sections that are there', () => {
    const wrong = documents.flatMap((path) =>
      [...textOf(path).matchAll(/\]\((?![a-z]+:|\/)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
        ([link, to = '', hash]) => {
          const file = to === '' ? path : join(dirname(path), to);
          if (!existsSync(join(ROOT, file))) return isMadeGuide(file) ? [] : [`${path}: ${link}`];
          if (hash === undefined || !file.endsWith('.md')) return [];
          return idsOf(textOf(file)).includes(hash) ? [] : [`${path}: ${link}`];
        },
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('name tests that are there, by the beginning of their path as vitest takes it', () => {
    const named = guides.flatMap(({ text }) =>
      [...text.matchAll(/(?<![\w/.-])test\/[\w./-]*\w/g)].map(String),
    );
    expect(named.length).toBeGreaterThan(0);
    const isThere = (name: string) =>
      existsSync(join(ROOT, name)) || tests.some(({ path }) => path.startsWith(name));
    expect(named.filter((name) => !isThere(name))).toEqual([]);
  });

  it('begin with a README that is short and lists every path of a metric', () => {
    const readme = textOf('README.md');
    expect(readme.split('\n').length).toBeLessThanOrEqual(README_LINES_MAX);
    const paths = metrics.flatMap(({ endpoints }) => endpoints.map(({ path }) => path));
    expect(paths.filter((path) => !readme.includes(`\`${path.replace('/api/', '')}\``))).toEqual([]);
  });
});

const idsOf = (text: string): string[] =>
  [...renderGuide({ title: '', text }).body.text.matchAll(/<h\d id="([^"]+)"/g)].map(([, id = '']) => id);

/** Made of what the code declares: a page, but no file. */
function isMadeGuide(file: string): boolean {
  const name = /^serve\/guides\/texts\/([\w-]+)\.md$/.exec(file)?.[1];
  return name !== undefined && guides.some((guide) => guide.name === name) && !existsSync(guideFile(name));
}
