import { describe, expect, test } from 'vitest';
import { MARKDOWN_CHARACTERS_MAX, markdown } from '../../../serve/pages/markdown.ts';

const shown = (text: string) => markdown(text).text;

/** Texts that became scripts, or left the page, somewhere: by tags, addresses, attributes, entities and odd bytes. */
const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<a href="javascript:alert(1)">x</a>',
  '<style>@import "//evil.example"</style>',
  '<!--><img src=x onerror=alert(1)>-->',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<?php <script>alert(1)</script> ?>',
  '<form action="//evil.example"><button formaction="javascript:alert(1)">x</button></form>',
  '<math><mtext></p><img src=x onerror=alert(1)></mtext></math>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\nscript:alert(1))',
  '[x](java\tscript:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74:alert(1))',
  '[x](\u0001javascript:alert(1))',
  '[x](vbscript:msgbox)',
  '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[x](file:///etc/passwd)',
  '[x](//evil.example)',
  '[x](/sign-out)',
  '[x](https://a.example" onmouseover="alert(1))',
  '[x](https://a.example "title\\" onmouseover=\\"alert(1)")',
  '[x](https://a.example \'a" onfocus="alert(1)\')',
  '[x]: javascript:alert(1)\n\n[x]',
  '<javascript:alert(1)>',
  '<https://a.example/"onmouseover="alert(1)>',
  'https://a.example/"onmouseover="alert(1)',
  '![x](javascript:alert(1))',
  '![x"onerror="alert(1)](https://a.example/x.png)',
  '![x](https://a.example/x.png"onerror="alert(1))',
  '![x](data:image/svg+xml;base64,PHN2Zy8+)',
  '![<img src=x onerror=alert(1)>](https://a.example)',
  '[![x](https://a.example)](javascript:alert(1))',
  '`<script>alert(1)</script>`',
  '```"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```',
  '    </code><script>alert(1)</script>',
  '| a |\n|:-:|\n| <script>alert(1)</script> |',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '# <script>alert(1)</script>',
  '> <script>alert(1)</script>',
  '- [x](javascript:alert(1))\n  - <b onclick=alert(1)>',
  'a\u0000<script\u0000>alert(1)</script>',
  '\ud800<script>alert(1)</script>\udfff',
  'ｊavascript:alert(1) ＜script＞',
];

const TAG =
  /^<(?:\/?(?:p|em|strong|s|ul|li|blockquote|h[3-6]|thead|tbody|tr|th|td|table|code|div|a|pre|ol)|br|hr)(?: (?:href|rel|title|class|tabindex|role|aria-label|start)="[^"<>]*")*>$/;
const ADDRESS = /^(?:https?:\/\/|mailto:)/;

describe('Markdown of others', () => {
  test.each(HOSTILE)('has no markup but its own: %j', (text) => {
    const html = shown(text);
    expect(html.match(/<[^>]*>?/g)?.filter((tag) => !TAG.test(tag))).toEqual([]);
    const links = [...html.matchAll(/<a href="([^"]*)"([^>]*)>/g)];
    expect(links.filter(([, href = '']) => !ADDRESS.test(href))).toEqual([]);
    expect(
      links.filter(([, , more = '']) => !more.includes('rel="noopener noreferrer nofollow ugc"')),
    ).toEqual([]);
  });

  test('becomes headings below those of the page, lists, tables without styles, and code that scrolls', () => {
    expect(shown('# One\n## Two')).toContain('<h3>One</h3>\n<h4>Two</h4>');
    expect(shown('- **Start:** now\n- two')).toContain('<li><strong>Start:</strong> now</li>');
    expect(shown('| a | b |\n|---|--:|\n| 1 | 2 |')).toContain('<td>1</td>\n<td class="right">2</td>');
    expect(shown('```sh\nls <dir>\n```')).toContain(
      '<pre class="payload" tabindex="0"><code>ls &#60;dir&#62;',
    );
    expect(shown('one\ntwo')).toContain('one<br>\ntwo');
  });

  test('links addresses that begin with a protocol, and images instead of loading them', () => {
    expect(shown('see https://wiki.example/a?b=1&c')).toContain(
      '<a href="https://wiki.example/a?b=1&amp;c" rel="noopener noreferrer nofollow ugc">',
    );
    expect(shown('run node.sh')).not.toContain('<a');
    expect(shown('![a graph](https://grafana.example/x.png)')).toContain('>Image: a graph</a>');
  });

  test('loses characters that turn or hide text, also those that entities write', () => {
    expect(shown('a\u202eb\u2066c\u0007d &#x202e;e&#8294;f')).toContain('<p>abcd ef</p>');
  });

  test('is bounded in length, depth and cells', () => {
    const long = shown('word '.repeat(MARKDOWN_CHARACTERS_MAX));
    expect(long.length).toBeLessThan(MARKDOWN_CHARACTERS_MAX + 500);
    expect(long).toContain('The text is cut here');
    expect(shown('> '.repeat(10_000)).length).toBeLessThan(2000);
    const wide = `${'|a'.repeat(300)}\n${'|-'.repeat(300)}\n${'|a\n'.repeat(5000)}`;
    expect(shown(wide)).not.toContain('<td');
    expect(shown('|a|b|\n|-|-|\n|1|2|')).toContain('<td>1</td>');
  });
});
