/** The page of the console. Whatever it shows is text: it never parses HTML, and its content security policy forbids other scripts. */
import { render } from 'preact';
import { App } from './app.tsx';
import { run } from './store.ts';

const place = document.getElementById('page');
if (place !== null) render(<App />, place);
void run();
