import { type Html, html } from '../../pages/html.ts';

/** Code to copy: API calls, and the `<iframe>` of a chart if it has one. */
export function snippets(url: string, frame?: string): Html {
  return html`<details class="snippets"><summary>Get this data from the API</summary>
${snippet('curl', `curl '${url}'`)}
${snippet('TypeScript', `const answer = await fetch('${url}');\nconst { start, per, series } = await answer.json();`)}
${snippet('Python', `import pandas as pd\n\nframe = pd.read_csv('${url}&format=csv')`)}
${frame !== undefined && snippet('Embed', `<iframe src="${frame}" title="Chain Metrics" width="100%" height="480" loading="lazy"></iframe>`)}
</details>`;
}

function snippet(language: string, code: string): Html {
  return html`<h3>${language}</h3><pre class="snippet" data-copy tabindex="0"><code>${code}</code></pre>`;
}

/** Download links of the values. */
export function downloads(source: string): Html {
  const link = (format: string, label: string) =>
    html`<a class="button second small" href="${`${source}&format=${format}`}" download>${label}</a>`;
  return html`<p class="actions" data-downloads>${link('csv', 'CSV')}${link('parquet', 'Parquet')}${link('arrow', 'Arrow')}</p>`;
}
