// What is kept: until the tab is closed, or for next time. Where a browser keeps nothing, until the page is left.

function store(open) {
  const memory = new Map();
  return {
    get(name) {
      try {
        return open().getItem(name);
      } catch {
        return memory.get(name) ?? null;
      }
    },
    set(name, value) {
      try {
        open().setItem(name, value);
      } catch {
        memory.set(name, value);
      }
    },
  };
}

export const session = store(() => sessionStorage);
export const local = store(() => localStorage);
