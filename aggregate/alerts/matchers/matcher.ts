/** A condition on one label. An absent label is the empty text. */
export interface Matcher {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
}

/** The labels of an alert that matchers compare. */
export interface MatchLabels {
  readonly values: ReadonlyMap<string, string>;
  /** Whether labels were removed. A matcher on an absent label is then false, so that no silence matches by mistake. */
  readonly isCut: boolean;
}

/** Invalid matchers. The message is shown to the user. */
export class MatcherError extends Error {
  /** Position in the text, from 1; 0 if the matchers were not parsed from a text. */
  readonly position: number;

  constructor(text: string, position = 0) {
    super(position === 0 ? text : `At character ${position}: ${text}`);
    this.name = 'MatcherError';
    this.position = position;
  }
}

const OPERATORS = ['=', '!=', '=~', '!~'] as const;
export type Operator = (typeof OPERATORS)[number];

export const newMatcher = (name: string, operator: Operator, value: string): Matcher => ({
  name,
  value,
  isRegex: operator.endsWith('~'),
  isEqual: operator.startsWith('='),
});

export const operatorOf = ({ isRegex, isEqual }: Matcher): Operator =>
  `${isEqual ? '=' : '!'}${isRegex ? '~' : isEqual ? '' : '='}` as Operator;
