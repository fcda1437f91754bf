/** Swagger UI plugin that shows the code samples of an operation above its responses. */
globalThis.samplesPlugin = ({ React: { createElement } }) => ({
  wrapComponents: {
    responses: (Responses) => (props) => {
      const { path, method, specSelectors } = props;
      const samples = specSelectors.specJson().getIn(['paths', path, method, 'x-codeSamples']);
      const shown = samples
        ?.toJS()
        .map(({ label, source }, i) =>
          createElement(
            'details',
            { key: label, open: i === 0 },
            createElement('summary', null, label),
            createElement('pre', { tabIndex: 0 }, createElement('code', null, source)),
          ),
        );
      const heading = createElement('h4', null, 'Code samples');
      const header = createElement('div', { className: 'opblock-section-header' }, heading);
      return createElement(
        'div',
        null,
        shown && createElement('div', { className: 'opblock-section code-samples' }, header, ...shown),
        createElement(Responses, props),
      );
    },
  },
});
