// Sentences and numbers in the language of a page, which brings its catalogue along; a page without one is in English.
// A catalogue is gettext's: by the English text that of the language, or its plural forms as a list.
let catalogue = {}, tag = "en", rules = new Intl.PluralRules(tag);

export const speak = (language, messages) => {
  catalogue = language === tag ? { ...catalogue, ...messages } : messages;
  [tag, rules] = [language, new Intl.PluralRules(language)];
};

// What the server says of the whole page; a part of it, as the rating form, may be in another language.
if (window.kpdemoSpeaks) {
  speak(window.kpdemoSpeaks.lang, window.kpdemoSpeaks.messages);
  document.documentElement.lang = tag;
}

export const language = () => tag;

// gettext numbers the forms in the order in which CLDR names them here; "many" is that of millions, where it is.
const FORMS = { one: 0, few: 1, many: Infinity, other: Infinity };

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (found, name) => values[name] ?? found);

export const _ = (text, values = {}) => fill(catalogue[text] || text, values);

// The form for `count`, which stands in the text as {count}.
export const ngettext = (one, more, count, values = {}) => {
  const forms = catalogue[one] ?? [one, more];
  return fill(forms[Math.min(FORMS[rules.select(count)], forms.length - 1)], { count, ...values });
};

// A grade as the language writes decimals: 2.75 or 2,75.
export const decimal = (value) => value.toLocaleString(tag, { maximumFractionDigits: 6, useGrouping: false });
